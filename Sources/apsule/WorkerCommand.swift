import ApsuleKit
import Glibc
import HostCore
import ScriptRuntime
import Synchronization

/// `apsule worker`: one project's engine, dispatcher and plugins, confined by the launcher before this runs.
///
/// Started by a parent only: descriptor 3 is the control socket.
enum WorkerCommand {
    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        ScriptRuntime.prepareProcess()
        let channel = ControlChannel(OwnedFile(3))
        guard let start = channel.receive(), start.kind == .start, start.files.count >= 2 else {
            throw HostError("usage.invalid", "apsule worker is started by apsule run.")
        }
        let link = WorkerLink(channel)
        let session = try WorkerSession(start.body, start.files, link)
        session.start()
        link.run()
        session.end()
        return .ok
    }
}

/// One project running in this worker.
final class WorkerSession: Sendable {
    private let dispatcher: Dispatcher
    private let link: WorkerLink
    private let script: Script
    private let limits: ScriptLimits
    private let project: ProjectReader
    private let runtime = Mutex<ScriptRuntime?>(nil)
    private let stopped = Semaphore()

    /// - Parameter files: sandbox, project folder, and the bundled script where there is one.
    init(_ start: JSON, _ files: [OwnedFile], _ link: WorkerLink) throws(HostError) {
        self.link = link
        let identity = ProjectIdentity(
            id: start["id"]?.stringValue ?? "", origin: start["origin"]?.stringValue ?? "")
        let host = try Host(plugins: start["plugins"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        let registry = host.registry
        registry.follow(start["families"], isFirst: true)
        link.onFamilies { registry.follow($0) }
        let console = WorkerConsole(link.channel)
        dispatcher = try host.dispatcher(
            identity, authority: link, settings: start["settings"] ?? .object([]),
            files: try ProjectFiles(adopting: files[0]), console: console)
        project = ProjectReader(files[1])
        let entry = start["entry"]?.stringValue ?? "main.js"
        script = try ScriptSource.load(entry, project: project, bundle: files.count > 2 ? files[2] : nil)
        limits = ScriptLimits(
            turnMs: Int(start["limits"]?["turnMs"]?.intValue ?? 5_000),
            memoryMB: Int(start["limits"]?["memoryMB"]?.intValue ?? 512))
    }

    func start() {
        let channel = link.channel
        let hooks = ScriptHooks(
            console: { level, text in
                channel.send(
                    .console,
                    [
                        "level": .int(Int64(level.rawValue)), "source": "script",
                        "text": .string(String(text.prefix(200_000))),
                    ])
            },
            readFile: { [project] path throws(HostError) in try project.read(path) },
            settled: { channel.send(.settled) },
            failed: { channel.send(.failed, $0.json) },
            heartbeat: { channel.offer(.heartbeat, .object([])) },
            stopped: { [stopped] in stopped.signal() })
        let runtime = ScriptRuntime(port: dispatcher, limits: limits, hooks: hooks)
        self.runtime.withLock { $0 = runtime }
        runtime.run(script)
    }

    /// Ends the script, then the calls and plugins.
    func end() {
        guard let runtime = runtime.withLock({ $0 }) else { return }
        runtime.stop()
        stopped.wait()
        dispatcher.close()
    }
}

/// Lines of plugins, sent to the parent.
final class WorkerConsole: ConsoleSink {
    private let channel: ControlChannel
    init(_ channel: ControlChannel) { self.channel = channel }

    func write(_ level: LogLevel, source: String, _ text: String) {
        channel.offer(
            .console,
            [
                "level": .int(Int64(level.rawValue)), "source": .string(source),
                "text": .string(String(text.prefix(20_000))),
            ])
    }
}
