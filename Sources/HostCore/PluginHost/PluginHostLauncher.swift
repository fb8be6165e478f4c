public import ApsuleKit
internal import Glibc
internal import Synchronization

/// Starts `apsule plugin-host` for families that run in a process of their own.
public final class PluginHostLauncher: Sendable {
    private let installation: Installation
    private let registry: Registry
    private let files: ProjectFiles?
    private let console: any ConsoleSink
    private let children = Mutex<(running: [Int64: ChildProcess], last: Int64)>(([:], 0))

    /// - Parameters:
    ///   - files: the project's sandbox, in which each family has its own folder.
    ///   - console: gets what plugins and their libraries write to standard output and error.
    public init(installation: Installation, registry: Registry, files: ProjectFiles?, console: any ConsoleSink) {
        (self.installation, self.registry, self.files) = (installation, registry, files)
        self.console = console
    }

    public func start(_ family: String) throws(HostError) -> PluginHostConnection {
        let (socket, child) = try spawn(family)
        return PluginHostConnection(socket: socket, process: child)
    }

    /// Starts one for a worker, which names it by number from then on.
    func startNumbered(
        _ family: String
    ) throws(HostError) -> (socket: OwnedFile, number: Int64, child: ChildProcess) {
        let (socket, child) = try spawn(family)
        let number = children.withLock { children in
            children.last += 1
            children.running[children.last] = child
            return children.last
        }
        child.onExit { [weak self] _ in self?.children.withLock { _ = $0.running.removeValue(forKey: number) } }
        return (socket, number, child)
    }

    func kill(_ number: Int64) { children.withLock { $0.running[number] }?.kill() }

    func killAll() { for child in children.withLock({ Array($0.running.values) }) { child.kill() } }

    private func spawn(_ family: String) throws(HostError) -> (OwnedFile, ChildProcess) {
        guard let entry = registry.snapshot.entry(family), entry.isCallable, !entry.path.isEmpty else {
            throw HostError("host.operation_unknown", "There is no plugin for \(family).")
        }
        let (mine, theirs) = try OwnedFile.socketPair()
        // Made here: the rules of the sandbox name folders that are there.
        let folder = files.flatMap { $0.dataDirectory(family) < 0 ? nil : "\($0.path)/\(family)" }
        let confinement = PluginHostConfinement(
            installation: installation, library: entry.path, descriptor: entry.descriptor, folder: folder)
        let output = try ChildOutput { [console] in console.write(.warning, source: family, $0) }
        defer { output.started() }
        return (mine, try ChildProcess.start(confinement.command(socket: theirs, output: output.file)))
    }
}
