public import ApsuleKit
internal import Synchronization

/// One host: its registry, permissions and state, from which projects are opened.
public final class Host: Sendable {
    public let installation: Installation
    private let place: Result<HostPaths, HostError>
    public let registry: Registry
    private let permissions = Mutex<PermissionCatalogue?>(nil)

    /// - Parameters:
    ///   - stateOverride: `--state DIR`.
    ///   - plugins: further plugin folders, `--plugins DIR`.
    ///   - bundled: further folders whose plugins are trusted; tests name theirs here.
    public init(
        installation: Installation = Installation(), stateOverride: String? = nil, plugins: [String] = [],
        bundled: [String] = []
    ) throws(HostError) {
        self.installation = installation
        place = Self.place(stateOverride, installation)
        let folders =
            bundled.map { PluginFolder(path: $0, isBundled: true) }
            + (try installation.pluginFolders(data: try? place.get().data, extra: plugins))
        registry = Registry(folders: folders, hostFamilies: try installation.hostFamilies())
    }

    /// Every permission there is; the first to ask has the registry read.
    public var catalogue: PermissionCatalogue {
        permissions.withLock { permissions in
            if let permissions { return permissions }
            let all = PermissionCatalogue(descriptors: registry.snapshot.entries.compactMap(\.descriptor))
            permissions = all
            return all
        }
    }

    /// Where state, data and settings lie; only what needs them fails where there is no home.
    ///
    /// - Throws: `host.state_unusable`.
    public var paths: HostPaths { get throws(HostError) { try place.get() } }

    private static func place(_ override: String?, _ installation: Installation) -> Result<HostPaths, HostError> {
        do throws(HostError) {
            return .success(try HostPaths(override: override, environment: installation.environment))
        } catch {
            return .failure(error)
        }
    }

    /// Opens the permissions of a project.
    ///
    /// - Parameter warn: hears what a person should know while the project runs: a grant that could not be saved, say.
    /// - Throws: `policy.invalid`, `policy.not_owner_only`: a policy that cannot be believed may hold a "no".
    public func authority(
        _ subject: PermissionAuthority.Subject, allowed: Set<String> = [], prompter: any Prompter,
        warn: @escaping @Sendable (HostError) -> Void = { _ in }
    ) throws(HostError) -> PermissionAuthority {
        for name in allowed where catalogue[name] == nil {
            let nearest = Suggestion.nearest(to: name, among: catalogue.names).map { " Did you mean \($0)?" } ?? ""
            throw HostError("permissions.unknown", "There is no permission \(name).\(nearest)")
        }
        let paths = try paths
        let policy = try Policy(configuration: paths.configuration)
        for warning in policy.warnings(self) { warn(warning) }
        return PermissionAuthority(
            subject: subject, catalogue: catalogue, store: try GrantStore(state: paths.state),
            audit: try AuditLog(state: paths.state, report: warn), policy: policy, allowed: allowed, prompter: prompter,
            report: warn)
    }

    /// Opens a dispatcher for a project in this process.
    ///
    /// - Parameters:
    ///   - files: the sandbox, where it is open already.
    ///   - tape: whether families are recorded or played.
    public func dispatcher(
        _ identity: ProjectIdentity, authority: any Authority & PermissionDesk, settings: JSON = .object([]),
        files: ProjectFiles? = nil, tape: Tape = .none, console: any ConsoleSink
    ) throws(HostError) -> Dispatcher {
        let sandbox: ProjectFiles
        if let files { sandbox = files } else { sandbox = try ProjectFiles(data: try paths.data, identity: identity) }
        let launcher = PluginHostLauncher(
            installation: installation, registry: registry, files: sandbox, console: console)
        let link = authority as? WorkerLink
        let providers = ProviderFactory(
            registry: registry, catalogue: catalogue, identity: identity, desk: authority, settings: settings,
            tape: tape,
            startPluginHost: { family throws(HostError) in
                // A worker has no right to start programs; its parent does it.
                if let link { try link.startPluginHost(family) } else { try launcher.start(family) }
            })
        let catalog = Catalog(registry: registry) { descriptor, host throws(HostError) in
            try providers.open(descriptor, host)
        }
        return Dispatcher(
            catalog: catalog, gate: Gate(authority: authority), files: sandbox, inOrder: tape.played, console: console)
    }
}
