public import ApsuleKit
internal import Glibc
internal import Synchronization

/// The parent's side of one worker: starts it confined, answers its questions, watches it, and hears how it ended.
public final class Worker: Sendable {
    /// How a worker came to its end.
    public enum End: Sendable {
        /// It finished, or was asked to stop.
        case finished
        /// The script failed: `ScriptError` as JSON.
        case failed(JSON)
        /// It did not answer and was killed, or it crashed.
        case lost(HostError)
    }

    public struct Hooks: Sendable {
        public var console: @Sendable (LogLevel, _ source: String, String) -> Void
        /// The script has finished and nothing is alive; this may be said before the worker's `init` has returned.
        public var settled: @Sendable (Worker) -> Void
        public var ended: @Sendable (End) -> Void

        public init(
            console: @escaping @Sendable (LogLevel, _ source: String, String) -> Void,
            settled: @escaping @Sendable (Worker) -> Void, ended: @escaping @Sendable (End) -> Void
        ) {
            (self.console, self.settled, self.ended) = (console, settled, ended)
        }
    }

    private let child: ChildProcess
    private let pluginHosts: PluginHostLauncher
    private let channel: ControlChannel
    private let output: ChildOutput
    private let authority: PermissionAuthority
    private let hooks: Hooks
    private let limits: Manifest.Limits
    private let state = Mutex(State())
    /// Answers that may wait for a person are not given on the thread that reads the socket.
    private struct State {
        var failure: JSON?
        var lost: HostError?
        var lastBeat = Clock.now
        /// A message is being read or handled, which may wait for who reads what the project prints: the silence is ours.
        var isBusy = false
        var isStarted = false
        var isStopping = false
    }

    /// A worker's process that gets ready, and waits to be told what to run.
    public struct Started: Sendable {
        fileprivate let child: ChildProcess
        fileprivate let socket: OwnedFile
        fileprivate let output: ChildOutput

        /// Ends it unused.
        public func abandon() { child.kill() }
    }

    /// Starts a worker's process, which takes a while to get ready: what is left to do is done meanwhile.
    ///
    /// - Parameter line: hears what the engine and plugins write themselves, in their last moments above all.
    /// - Throws: `host.system_error`.
    public static func start(
        _ confinement: WorkerConfinement, line: @escaping @Sendable (String) -> Void
    ) throws(HostError) -> Started {
        let (mine, theirs) = try OwnedFile.socketPair()
        let output = try ChildOutput(line)
        defer { output.started() }
        let child = try ChildProcess.start(try confinement.command(control: theirs, output: output.file))
        return Started(child: child, socket: mine, output: output)
    }

    /// Has a worker run a project.
    ///
    /// - Parameters:
    ///   - start: what the worker gets to know: identity, settings, limits, entry.
    ///   - files: sent along with it: the sandbox, the project folder, and more by agreement.
    public init(
        _ started: Started, start: JSON, files: [OwnedFile], limits: Manifest.Limits,
        authority: PermissionAuthority, pluginHosts: PluginHostLauncher, hooks: Hooks
    ) {
        (self.authority, self.hooks, self.limits) = (authority, hooks, limits)
        self.pluginHosts = pluginHosts
        (child, channel, output) = (started.child, ControlChannel(started.socket), started.output)
        channel.send(.start, start, files: files)
        authority.onRevoked { [channel] revocation in
            channel.send(.revoked, ["permission": .string(revocation.permission)])
        }
        child.onExit { [self] in exited($0) }
        Thread.start(name: "apsule.control") { self.serve() }
        Thread.start(name: "apsule.watch") { self.watch() }
    }

    /// Asks the worker to end its project; what does not end within ten seconds is killed.
    public func stop() {
        let first = state.withLock { state in
            defer { state.isStopping = true }
            return !state.isStopping
        }
        guard first else { return }
        channel.send(.stop)
        Thread.start(name: "apsule.stop") { [child] in
            if child.wait(milliseconds: 10_000) == nil { child.kill() }
        }
    }

    public func kill() { child.kill() }

    /// Tells the worker what plugins of others there are now.
    public func announce(_ families: JSON) { channel.send(.families, ["families": families]) }

    private func serve() {
        let working = { [self] isBusy in state.withLock { ($0.isBusy, $0.lastBeat) = (isBusy, Clock.now) } }
        while let message = channel.receive(working: working) {
            handle(message.kind, message.body)
            working(false)
        }
        // A worker that broke the protocol or closed its socket is of no use any more.
        if child.wait(milliseconds: 2_000) == nil { child.kill() }
    }

    private func handle(_ kind: ControlKind, _ body: JSON) {
        let id = body["id"] ?? .null
        switch kind {
        case .ask:
            guard let question = Question(json: body) else { return }
            authority.decide(question) { [channel] in channel.send(.answer, ["id": id, "verdict": $0.json]) }
        case .allows:
            let allowed = Question(json: body).map { authority.allows($0, once: body["once"] == true) } ?? false
            channel.send(.answer, ["id": id, "allowed": .bool(allowed)])
        case .note:
            if let question = Question(json: body) {
                authority.note(question, count: Int(body["count"]?.intValue ?? 1))
            }
        case .console:
            let level = LogLevel(rawValue: Int32(truncatingIfNeeded: body["level"]?.intValue ?? 1)) ?? .info
            hooks.console(level, body["source"]?.stringValue ?? "", body["text"]?.stringValue ?? "")
        case .desk: desk(id, body)
        case .pluginHost: pluginHost(id, body)
        case .settled: hooks.settled(self)
        case .failed:
            state.withLock { if $0.failure == nil { $0.failure = body } }
            stop()
        case .heartbeat: state.withLock { $0.isStarted = true }
        case .ready, .start, .answer, .revoked, .stop, .families, .part: break
        }
    }

    private func pluginHost(_ id: JSON, _ body: JSON) {
        if let number = body["kill"]?.intValue { return pluginHosts.kill(number) }
        do throws(HostError) {
            let (socket, number, child) = try pluginHosts.startNumbered(body["family"]?.stringValue ?? "")
            channel.send(.answer, ["id": id, "process": .int(number)], files: [socket])
            child.onExit { [channel] end in channel.send(.pluginHost, ["ended": .int(number), "how": end.json]) }
        } catch {
            channel.send(.answer, ["id": id, "error": error.json])
        }
    }

    private func desk(_ id: JSON, _ body: JSON) {
        let permission = body["permission"]?.stringValue ?? ""
        let answer: @Sendable (String) -> Void = { [channel] in channel.send(.answer, ["id": id, "state": .string($0)])
        }
        switch body["what"]?.stringValue {
        case "summary":
            authority.summary { [channel] states in
                let members = states.map { JSON.Member($0.0, .string($0.1)) }
                channel.send(.answer, ["id": id, "states": .object(members)])
            }
        case "status": authority.status(permission, answer)
        default: authority.request(permission, answer)
        }
    }

    /// A worker whose event loop does not turn sends no heartbeat; an endless microtask loop is seen only here.
    ///
    /// So is one
    /// allocation that jumps over the engine's own look at its memory.
    private func watch() {
        // A worker sends heartbeats while its turn is within the limit; before the first one it is still starting.
        let silence = max(1_500, Int64(limits.turnMs) * 3 / 10)
        let memory = limits.memoryMB + 256
        while child.wait(milliseconds: 100) == nil {
            let (last, isStarted, isBusy) = state.withLock { ($0.lastBeat, $0.isStarted, $0.isBusy) }
            if !isBusy, Clock.now - last > (isStarted ? silence : 60_000) {
                return end(
                    "script.unresponsive", "The script did not give its turn back and was ended.",
                    limit: "turnMs", limits.turnMs, fix: "Await in long loops, or raise limits.turnMs in app.json.")
            }
            let used = ProcessMemory.privateMB(child.pid)
            if used > memory {
                return end(
                    "script.out_of_memory", "The script used \(used) MB of memory and was ended.",
                    limit: "memoryMB", limits.memoryMB, fix: "Keep less at once, or raise limits.memoryMB in app.json.")
            }
        }
    }

    private func end(_ code: String, _ message: String, limit: String, _ value: Int, fix: String) {
        let reason = "limits.\(limit) is \(value)."
        let error = HostError(
            code, message, details: [limit: .int(Int64(value)), "reason": .string(reason), "fix": .string(fix)])
        state.withLock { if $0.lost == nil { $0.lost = error } }
        child.kill()
    }

    private func exited(_ status: ProcessEnd) {
        channel.close()
        pluginHosts.killAll()
        output.wait(milliseconds: 500)
        let (failure, lost, isStopping) = state.withLock { ($0.failure, $0.lost, $0.isStopping) }
        if let lost { return hooks.ended(.lost(lost)) }
        if let failure { return hooks.ended(.failed(failure)) }
        switch status {
        // Only what was asked to end has finished.
        case .exited(0) where isStopping: hooks.ended(.finished)
        default:
            let error = HostError(
                "script.crashed", "The worker process ended: \(status).",
                details: ["status": .string("\(status)"), "memoryMB": .int(Int64(limits.memoryMB))])
            hooks.ended(.lost(error))
        }
    }
}
