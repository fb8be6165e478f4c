import ApsuleKit
import HostCore
import ScriptRuntime
import ScriptText

/// One project running in this worker.
final class WorkerSession: Sendable {
    private let link: WorkerLink
    private let start: JSON
    private let files: [String: OwnedFile]
    private let sandbox: OwnedFile
    private let project: ProjectReader
    private let runtime: ScriptRuntime
    /// What the script calls; nil where it could not be made.
    private let port = OneAnswer<Dispatcher?>()
    private let stopped = OneAnswer<Void>()
    /// Bytes of a line of the console; each may take six on the way.
    private static let longestLine = 4 << 20

    /// - Parameter files: `sandbox` and `project`, and where there are `bundle`, the bundled script, and `tape`.
    init?(_ start: JSON, _ files: [String: OwnedFile], _ link: WorkerLink) {
        guard let sandbox = files["sandbox"], let folder = files["project"] else { return nil }
        (self.start, self.files, self.link, self.sandbox) = (start, files, link, sandbox)
        let project = ProjectReader(folder)
        self.project = project
        let limits = ScriptLimits(
            turnMs: Int(start["limits"]?["turnMs"]?.intValue ?? 5_000),
            memoryMB: Int(start["limits"]?["memoryMB"]?.intValue ?? 512))
        let channel = link.channel
        let hooks = ScriptHooks(
            console: { level, text in
                channel.send(
                    .console,
                    [
                        "level": .int(Int64(level.rawValue)), "source": "script",
                        "text": .string(text.bounded(Self.longestLine)),
                    ])
            },
            readFile: { path throws(HostError) in try project.read(path) },
            settled: { channel.send(.settled) },
            failed: { channel.send(.failed, $0.json) },
            heartbeat: { channel.offer(.heartbeat, .object([])) },
            stopped: { [stopped] in stopped.give(()) })
        // The engine gets ready on its thread while this one reads the registry.
        runtime = ScriptRuntime(limits: limits, hooks: hooks, isLast: true) { [port] in port.wait() }
    }

    /// Runs the script until the parent says stop, then ends the calls and plugins.
    ///
    /// - Returns: whether it could be started.
    func run() -> Bool {
        do throws(HostError) {
            let dispatcher = try dispatcher()
            runtime.run(try script())
            port.give(dispatcher)
            link.run()
            runtime.stop()
            stopped.wait()
            dispatcher.close()
            return true
        } catch {
            link.channel.send(.failed, error.json)
            port.give(nil)
            stopped.wait()
            return false
        }
    }

    private func dispatcher() throws(HostError) -> Dispatcher {
        let identity = ProjectIdentity(
            id: start["id"]?.stringValue ?? "", origin: start["origin"]?.stringValue ?? "")
        let host = try Host(plugins: start["plugins"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        let registry = host.registry
        registry.follow(start["families"], isFirst: true)
        link.onFamilies { registry.follow($0) }
        let console = WorkerConsole(link.channel)
        let tape = try Tape(files["tape"], start["tape"] ?? .null) {
            console.write(.warning, source: "apsule", $0.message)
        }
        return try host.dispatcher(
            identity, authority: link, settings: start["settings"] ?? .object([]),
            files: try ProjectFiles(adopting: sandbox), tape: tape, console: console)
    }

    private func script() throws(HostError) -> Script {
        let entry = start["entry"]?.stringValue ?? "main.js"
        return try ScriptSource.load(entry, project: project, bundle: files["bundle"])
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
                "text": .string(text.bounded(20_000)),
            ])
    }
}
