internal import ApsuleKit
internal import Glibc

/// What a worker may reach: system files, its own program, the project's folder and sandbox, and nothing else.
public struct WorkerConfinement: Sendable {
    private let installation: Installation
    private let project: String?
    private let sandbox: String
    private let families: [Descriptor]
    private let usesNetwork: Bool
    private let usesProxies: Bool

    /// - Parameters:
    ///   - project: the project's folder, readable.
    ///   - sandbox: the project's sandbox, writable.
    ///   - families: those that the project declares; what their descriptors ask for is let in.
    public init(
        installation: Installation, project: String?, sandbox: String, families: [Descriptor]
    ) {
        (self.installation, self.project, self.sandbox) = (installation, project, sandbox)
        self.families = families
        // Everything else talks over D-Bus and other sockets with a path, or in a plugin-host of its own.
        usesNetwork = families.contains {
            ["network", "localNetwork"].contains($0.permission) || $0.sandbox?["network"] != nil
        }
        usesProxies = families.contains { $0.permission == "network" }
    }

    func command(control: OwnedFile, output: OwnedFile) throws(HostError) -> ChildCommand {
        let program = installation.folder + "/apsule-worker"
        let launcher = installation.folder + "/apsule-launch"
        var arguments: [String] = []
        func allow(_ option: String, _ paths: [String]) {
            for path in paths where access(path, F_OK) == 0 { arguments += [option, path] }
        }
        allow("--ro", SystemFiles.readable + asked("read"))
        allow("--rx", [installation.folder] + LoadedLibraries.folders)
        allow("--ro", [project].compactMap { $0 })
        allow("--rw", [sandbox] + asked("write"))
        allow("--dev", ["/dev/null"] + asked("devices"))
        arguments += ["--lenient"] + (usesNetwork ? [] : ["--no-tcp"])
        // Some older desktops have their session bus at an abstract socket.
        let bus = installation.environment["DBUS_SESSION_BUS_ADDRESS"] ?? ""
        if !bus.contains("abstract=") { arguments += ["--scoped"] }
        // No limit on data: the engine reserves 20 GiB of it at start. The parent watches what is really used.
        arguments += ["--rlimit", "core=0"]
        arguments += ["--keep", "3", "--parent", String(getpid()), "--", program]
        var environment = ChildEnvironment(proxies: usesProxies)
        environment["APSULE_DEBUG"] = installation.environment["APSULE_DEBUG"]
        return ChildCommand(
            launcher, arguments, environment: environment,
            descriptors: [1: output, 2: output, 3: control])
    }

    /// What the declared families' descriptors name under `sandbox`.
    private func asked(_ kind: String) -> [String] {
        families.flatMap { $0.sandbox?[kind]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    }
}
