import ApsuleKit

/// Opens the provider of a family: the host's own, or a plugin in this process.
final class ProviderFactory: Sendable {
    private let registry: Registry
    private let catalogue: PermissionCatalogue
    private let identity: ProjectIdentity
    private let desk: any PermissionDesk
    private let settings: JSON
    private let tape: Tape
    private let startPluginHost: StartPluginHost

    typealias StartPluginHost = @Sendable (_ family: String) throws(HostError) -> PluginHostConnection

    init(
        registry: Registry, catalogue: PermissionCatalogue, identity: ProjectIdentity, desk: any PermissionDesk,
        settings: JSON, tape: Tape, startPluginHost: @escaping StartPluginHost
    ) {
        (self.registry, self.catalogue, self.identity) = (registry, catalogue, identity)
        self.startPluginHost = startPluginHost
        (self.desk, self.settings, self.tape) = (desk, settings, tape)
    }

    func open(_ descriptor: Descriptor, _ host: any ProviderHost) throws(HostError) -> any Provider {
        guard let entry = registry.snapshot.entry(descriptor.family) else {
            throw HostError("host.operation_unknown", "There is no family \(descriptor.family).")
        }
        if entry.provider == "host" { return try hostFamily(descriptor.family) }
        if let player = tape.player(descriptor) { return player }
        if let error = entry.error { throw error }
        return tape.recorded(try plugin(entry, descriptor, host), descriptor)
    }

    private func plugin(
        _ entry: Registry.Entry, _ descriptor: Descriptor, _ host: any ProviderHost
    ) throws(HostError) -> any Provider {
        let project: JSON = ["id": .string(identity.id), "settings": settings[descriptor.family] ?? .object([])]
        if entry.isOwnProcess {
            let start = startPluginHost
            return RemoteProvider(descriptor, project: project, host: host) { () throws(HostError) in
                try start(descriptor.family)
            }
        }
        let library: PluginLibrary
        do throws(HostError) { library = try PluginLibrary(path: entry.path, descriptor: descriptor) } catch {
            registry.mark(descriptor.family, .invalid, error)
            throw error
        }
        return try PluginProvider(library, project: project, host: host)
    }

    private func hostFamily(_ family: String) throws(HostError) -> any Provider {
        switch family {
        case "runtime": return RuntimeFamily.provider(registry: registry)
        case "permissions": return PermissionsFamily.provider(desk: desk, catalogue: catalogue)
        default: throw HostError("host.operation_unknown", "The host does not serve \(family).")
        }
    }
}
