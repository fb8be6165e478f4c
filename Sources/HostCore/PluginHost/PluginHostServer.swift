public import ApsuleKit
internal import Glibc
internal import Synchronization

/// A plugin-host: serves one provider over a channel, until the host ends it or goes away.
public final class PluginHostServer: Sendable {
    /// Opens the instance for a project.
    public typealias Open = @Sendable (_ project: JSON, _ host: any ProviderHost) throws(HostError) -> any Provider
    /// Asks whether the family can work here, without an instance.
    public typealias Probe = @Sendable (_ completion: @escaping @Sendable (JSON) -> Void) -> Void

    private typealias Work = PluginHostWorkers.Work

    private static let patienceMs = 5_000
    private let family: String
    private let channel: FrameChannel
    private let open: Open
    private let probe: Probe
    private let questions: HostQuestions
    private let state = Mutex(State())
    /// Cancelled calls whose `invoke` has not returned.
    private let insisting = Mutex<Set<UInt64>>([])

    private struct State {
        var provider: (any Provider)?
        var calls: [UInt64: ServedCall] = [:]
        var isClosing = false
    }

    public init(family: String, channel: FrameChannel, open: @escaping Open, probe: @escaping Probe) {
        (self.family, self.channel, self.open, self.probe) = (family, channel, open, probe)
        questions = HostQuestions(channel)
    }

    /// Serves until the channel ends; the plugin is then closed, if it lets itself be.
    ///
    /// - Throws: `host.wire_malformed`, `host.system_error`.
    public func run() throws(HostError) {
        let workers = PluginHostWorkers(channel) { [self] frame in handle(frame) }
        let result: Result<Void, HostError>
        do throws(HostError) { result = .success(try workers.run()) } catch { result = .failure(error) }
        questions.close()
        let (provider, calls) = state.withLock { state in
            state.isClosing = true
            return (state.provider, state.calls)
        }
        for (call, served) in calls {
            served.stop()
            provider?.cancel(call)
        }
        // An instance whose invokes do not return cannot be closed; the end of the process ends it.
        if workers.waitUntilIdle(milliseconds: Self.patienceMs) { provider?.close() }
        try result.get()
    }

    /// Takes note of a frame, on the one thread whose turn it is.
    private func handle(_ frame: Frame) -> Work {
        do throws(HostError) {
            return try handle(PluginRequest(frame))
        } catch {
            // The host is this program, too: what it sends is right, or nothing it sends can be trusted.
            channel.close()
            return .none
        }
    }

    private func handle(_ request: PluginRequest) -> Work {
        switch request {
        case .open(let project): return .job { [self] in openInstance(project) }
        case .probe: return .job { [self] in probe { [self] in send(.probed($0)) } }
        case .invoke(let call, let operation, let isStream, let arguments):
            return invoke(call, operation, isStream, arguments)
        case .cancel(let call):
            guard let (provider, served) = find(call) else { return .none }
            served.isCancelled.store(true, ordering: .sequentiallyConsistent)
            return .urgent { [self] in
                provider.cancel(call)
                insist(call)
            }
        case .grant(let call, let events, let bytes):
            guard let (provider, served) = find(call) else { return .none }
            let resumes = served.grant(events: events, bytes: bytes)
            if resumes == 0 { return .none }
            return .urgent { for _ in 0..<resumes { provider.resume(call) } }
        case .stop(let call): find(call)?.1.stop()
        case .answer(let question, let result, let file): questions.answer(question, result, file)
        case .close: channel.close()
        }
        return .none
    }

    /// Cancels again while `invoke` runs: a plugin that blocks there may have been cancelled a moment before it took note
    /// of the call.
    private func insist(_ call: UInt64) {
        guard let (_, served) = find(call), !served.isTaken.load(ordering: .sequentiallyConsistent) else { return }
        let isFirst = insisting.withLock { calls in
            defer { calls.insert(call) }
            return calls.isEmpty
        }
        guard isFirst else { return }
        Thread.start(name: "apsule.insist") { [self] in
            while true {
                usleep(20_000)
                let calls = insisting.withLock { calls in
                    calls = calls.filter { find($0)?.1.isTaken.load(ordering: .sequentiallyConsistent) == false }
                    return calls
                }
                if calls.isEmpty { return }
                for call in calls { find(call)?.0.cancel(call) }
            }
        }
    }

    private func find(_ call: UInt64) -> (any Provider, ServedCall)? {
        state.withLock { state in
            guard let provider = state.provider, let call = state.calls[call] else { return nil }
            return (provider, call)
        }
    }

    private func openInstance(_ project: JSON) {
        guard state.withLock({ $0.provider == nil }) else { return }
        do throws(HostError) {
            let provider = try open(project, Link(family: family, server: self))
            state.withLock { $0.provider = provider }
            send(.opened(operations: provider.operations))
        } catch {
            send(.refused(error))
        }
    }

    private func invoke(_ id: UInt64, _ operation: Int, _ isStream: Bool, _ arguments: Payload) -> Work {
        let call = ServedCall(id, isStream: isStream, channel: channel, questions: questions) { [weak self] in
            self?.state.withLock { _ = $0.calls.removeValue(forKey: id) }
        }
        let provider: (any Provider)? = state.withLock { state in
            guard let provider = state.provider, !state.isClosing else { return nil }
            guard provider.operations.indices.contains(operation) else { return nil }
            state.calls[id] = call
            return provider
        }
        guard let provider else {
            let error = HostError("plugin.failed", "The \(family) plugin has no operation \(operation) to run now.")
            return .urgent { call.fail(error) }
        }
        return .job {
            // It may have waited for a thread until nobody wanted it any more.
            guard !call.isCancelled.load(ordering: .sequentiallyConsistent) else { return call.fail(.cancelled) }
            provider.invoke(operation, call: id, arguments: arguments, sink: call)
            call.isTaken.store(true, ordering: .sequentiallyConsistent)
            // A cancel that came meanwhile may have come before the plugin knew of the call.
            if call.isCancelled.load(ordering: .sequentiallyConsistent) { provider.cancel(id) }
        }
    }

    private func send(_ report: PluginReport) {
        if let frame = try? report.frame() { channel.sendWaiting(frame) }
    }

    /// What the plugin gets from the host besides its calls.
    private final class Link: ProviderHost {
        private static let longestLog = 16 << 10
        private let family: String
        private let server: PluginHostServer
        private let folder = Mutex<Int32?>(nil)

        init(family: String, server: PluginHostServer) { (self.family, self.server) = (family, server) }

        func log(_ level: LogLevel, family: String, _ message: String) {
            server.send(.log(level, String(message.prefix(Self.longestLog))))
        }

        /// Asked once: the descriptor stays this process's, and every later question gets the same one.
        func dataDirectory(family: String) -> Int32 {
            if let known = folder.withLock({ $0 }) { return known }
            let fresh = server.questions.ask { .dataDirectory(question: $0) }
            guard fresh >= 0 else { return fresh }
            return folder.withLock { folder in
                if let known = folder {
                    close(fresh)
                    return known
                }
                folder = fresh
                return fresh
            }
        }
    }
}
