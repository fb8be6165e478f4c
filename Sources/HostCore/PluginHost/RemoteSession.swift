internal import ApsuleKit
internal import Glibc
internal import Synchronization

/// One plugin-host process from its start to its end, seen from the host.
///
/// What the process sends is checked here: a call must run, a second answer is dropped, and both are counted.
final class RemoteSession: Sendable {
    private static let openingMs = 20_000
    private static let closingMs = 6_000
    /// For questions of plugins, whose answer may take another process.
    private static let pool = ThreadPool(limit: 16)

    private let descriptor: Descriptor
    private let host: any ProviderHost
    private let channel: FrameChannel
    private let process: any PluginHostProcess
    private let ended: @Sendable (RemoteSession, HostError?) -> Void
    private let hasOpened = Signal()
    private let hasEnded = Signal()
    private let state = Mutex(State())

    private enum Phase {
        case opening
        case open([String: Int])
        case refused(HostError)
        case closing
        case ended(HostError?)
    }

    private struct State {
        var phase = Phase.opening
        var calls: [UInt64: RemoteCall] = [:]
        /// Calls that were cancelled and did not end when they should have.
        var overdue: Set<UInt64> = []
        var isHung = false
        var forgeries = 0

        /// Whether nobody waits for anything that runs: then the process is no use, and its end costs nobody anything.
        mutating func findsHang() -> Bool {
            guard !isHung, !overdue.isEmpty, calls.count == overdue.count else { return false }
            isHung = true
            return true
        }
    }

    /// - Parameter ended: called once after the process has ended; with the crash, where it was one.
    init(
        _ connection: PluginHostConnection, descriptor: Descriptor, host: any ProviderHost,
        ended: @escaping @Sendable (RemoteSession, HostError?) -> Void
    ) {
        (self.descriptor, self.host, self.ended) = (descriptor, host, ended)
        process = connection.process
        channel = FrameChannel(connection.socket)
        Thread.start(name: "apsule.plugin") { [self] in read() }
    }

    var isOpen: Bool { state.withLock { if case .open = $0.phase { true } else { false } } }

    var forgeries: Int { state.withLock { $0.forgeries } }

    // MARK: - What the host asks

    /// Opens the instance and waits for it.
    func open(_ project: JSON) throws(HostError) {
        send(.open(project: project))
        let isInTime = hasOpened.wait(milliseconds: Self.openingMs)
        let phase = state.withLock { $0.phase }
        switch phase {
        case .open: return
        case .refused(let error):
            close()
            throw error
        case .ended(let error): throw error ?? .cancelled
        case .opening, .closing: break
        }
        guard !isInTime else { throw .cancelled }
        process.kill()
        throw .unavailable(
            descriptor.family, "The plugin did not open within \(Self.openingMs / 1_000) seconds.",
            fix: "Look at the project's log for what it waits for.")
    }

    func invoke(_ operation: String, call: UInt64, arguments: Payload, sink: any CallSink) throws(HostError) {
        let index: Result<Int, HostError> = state.withLock { state in
            if case .ended(let error) = state.phase { return .failure(error ?? .cancelled) }
            guard case .open(let indices) = state.phase, let index = indices[operation] else {
                return .failure(.cancelled)
            }
            state.calls[call] = RemoteCall(operation, sink)
            return .success(index)
        }
        let request = PluginRequest.invoke(call: call, operation: try index.get(), isStream: sink.isStream, arguments)
        do throws(HostError) {
            guard channel.send(try request.frame()) == .full else { return }
            throw HostError(
                "host.busy", "The \(descriptor.family) plugin does not take any more calls now.",
                details: ["family": .string(descriptor.family)])
        } catch {
            // Whoever takes the call out of the table answers it.
            if remove(call) != nil { throw error }
        }
    }

    func cancel(_ call: UInt64) {
        if find(call) != nil { send(.cancel(call: call)) }
    }

    func resume(_ call: UInt64) {
        if let running = find(call) { tell(call, running.resumed()) }
    }

    /// Ends a process that hangs: calls are overdue, and nobody waits for any other.
    func overdue(_ call: UInt64) {
        let isHang = state.withLock { state in
            guard state.calls[call] != nil else { return false }
            state.overdue.insert(call)
            return state.findsHang()
        }
        if isHang { process.kill() }
    }

    /// Ends the process: it is asked to close its plugin, and killed if it does not.
    func close() {
        let isRunning = state.withLock { state in
            if case .ended = state.phase { return false }
            state.phase = .closing
            return true
        }
        guard isRunning else { return }
        send(.close)
        if !hasEnded.wait(milliseconds: Self.closingMs) { process.kill() }
    }

    // MARK: - What the process says

    private func read() {
        var failure: HostError?
        do throws(HostError) {
            while let frame = try channel.receive() { handle(try PluginReport(frame)) }
        } catch {
            failure = error
        }
        channel.close()
        var status = process.wait(milliseconds: 1_000)
        if status == nil {
            process.kill()
            status = process.wait(milliseconds: 5_000)
        }
        finish(failure, status)
    }

    private func handle(_ report: PluginReport) {
        switch report {
        case .opened(let names): opened(names)
        case .refused(let error):
            state.withLock { if case .opening = $0.phase { $0.phase = .refused(error) } }
            hasOpened.post()
        case .reply(let call, let result):
            guard let running = find(call), running.sink.isStream ? running.markReplied() : remove(call) != nil else {
                return forged()
            }
            running.sink.reply(result)
        case .fail(let call, let error):
            guard let running = remove(call) else { return forged() }
            running.sink.fail(error)
        case .end(let call, let final):
            guard let running = find(call), running.sink.isStream, remove(call) != nil else { return forged() }
            running.sink.end(final)
        case .event(let call, let name, let payload):
            guard let running = find(call), running.sink.isStream else { return forged() }
            tell(call, running.event(name, payload))
        case .log(let level, let message): host.log(level, family: descriptor.family, message)
        case .openPath(let question, let call, let path, let flags, let mode):
            answer(question, find(call)) { running in
                let file = running.sink.openPath(path, flags: flags, mode: mode)
                return file < 0 ? (file, nil) : (0, OwnedFile(file))
            }
        case .allows(let question, let call, let scope, let value):
            answer(question, find(call)) { ($0.sink.allows(scope, value) ? 1 : 0, nil) }
        case .dataDirectory(let question):
            let folder = host.dataDirectory(family: descriptor.family)
            let copy = folder >= 0 ? OwnedFile.duplicate(folder) : nil
            send(.answer(question: question, folder >= 0 && copy == nil ? -EMFILE : min(folder, 0), file: copy))
        case .probed, .closed: break
        }
    }

    private func opened(_ names: [String]) {
        let isRight = Set(names) == Set(descriptor.operations.map(\.name)) && Set(names).count == names.count
        state.withLock { state in
            guard case .opening = state.phase else { return }
            if isRight {
                state.phase = .open(Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) }))
            } else {
                state.phase = .refused(
                    HostError("plugin.operations_mismatch", "Plugin and descriptor name different operations."))
            }
        }
        hasOpened.post()
    }

    /// Off the reading thread, since an answer may take another process; a question about no call is refused.
    private func answer(
        _ question: UInt64, _ running: RemoteCall?, _ body: @escaping @Sendable (RemoteCall) -> (Int32, OwnedFile?)
    ) {
        guard let running else {
            forged()
            return send(.answer(question: question, -EINVAL, file: nil))
        }
        Self.pool.submit { [self] in
            let (result, file) = body(running)
            send(.answer(question: question, result, file: file))
        }
    }

    private func finish(_ failure: HostError?, _ status: ProcessEnd?) {
        let (calls, error, isHung) = state.withLock { state in
            let error: HostError? =
                switch state.phase {
                case .closing, .refused: nil
                case .opening, .open, .ended: crash(failure, status, isHung: state.isHung, operation: nil)
                }
            defer { (state.phase, state.calls) = (.ended(error), [:]) }
            return (state.calls, error, state.isHung)
        }
        // Crashes are counted before anybody can call again.
        ended(self, error)
        for running in calls.values {
            running.sink.fail(
                error == nil ? .cancelled : crash(failure, status, isHung: isHung, operation: running.operation))
        }
        hasOpened.post()
        hasEnded.post()
    }

    private func crash(
        _ failure: HostError?, _ status: ProcessEnd?, isHung: Bool, operation: String?
    ) -> HostError {
        var details: JSON = ["family": .string(descriptor.family)]
        if let operation { details.set("operation", .string("\(descriptor.family).\(operation)")) }
        switch status {
        case .signalled(let signal): details.set("signal", .int(Int64(signal)))
        case .exited(let code): details.set("exitStatus", .int(Int64(code)))
        case nil: break
        }
        if let failure { details.set("reason", .string(failure.message)) }
        if isHung {
            let reason = "It did not end calls that were cancelled, and was ended."
            details.set("reason", .string(reason))
            return HostError("plugin.crashed", "The \(descriptor.family) plugin hung. \(reason)", details: details)
        }
        let how = failure?.message ?? status.map { "It ended with \($0)." } ?? "It does not answer."
        return HostError("plugin.crashed", "The \(descriptor.family) plugin crashed. \(how)", details: details)
    }

    // MARK: - Small parts

    private func find(_ call: UInt64) -> RemoteCall? { state.withLock { $0.calls[call] } }

    private func remove(_ call: UInt64) -> RemoteCall? {
        let (running, isHang) = state.withLock { state in
            state.overdue.remove(call)
            return (state.calls.removeValue(forKey: call), state.findsHang())
        }
        if isHang { process.kill() }
        return running
    }

    private func forged() { state.withLock { $0.forgeries += 1 } }

    private func tell(_ call: UInt64, _ next: RemoteCall.Next) {
        switch next {
        case .nothing: return
        case .grant(let events, let bytes): send(.grant(call: call, events: events, bytes: bytes))
        case .stop: send(.stop(call: call))
        }
    }

    /// A process that does not even take these small frames does not run any more in a sense that helps anybody.
    private func send(_ request: PluginRequest) {
        guard let frame = try? request.frame() else { return }
        if channel.send(frame) == .full { process.kill() }
    }
}
