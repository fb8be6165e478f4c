public import ApsuleKit
internal import Glibc
internal import Synchronization

/// A plugin-host: serves one provider over a channel, until the host ends it or goes away.
public final class PluginHostServer: Sendable {
    /// Opens the instance for a project.
    public typealias Open = @Sendable (_ project: JSON, _ host: any ProviderHost) throws(HostError) -> any Provider
    /// Asks whether the family can work here, without an instance.
    public typealias Probe = @Sendable (_ completion: @escaping @Sendable (JSON) -> Void) -> Void

    private typealias Job = PluginHostWorkers.Job

    private static let patienceMs = 5_000
    private let family: String
    private let channel: FrameChannel
    private let open: Open
    private let probe: Probe
    private let questions: HostQuestions
    private let state = Mutex(State())

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

    private func handle(_ frame: Frame) -> Job? {
        do throws(HostError) {
            return try handle(PluginRequest(frame))
        } catch {
            // The host is this program, too: what it sends is right, or nothing it sends can be trusted.
            channel.close()
            return nil
        }
    }

    private func handle(_ request: PluginRequest) -> Job? {
        switch request {
        case .open(let project): return { [self] in openInstance(project) }
        case .probe: return { [self] in probe { [self] in send(.probed($0)) } }
        case .invoke(let call, let operation, let isStream, let arguments):
            return invoke(call, operation, isStream, arguments)
        case .cancel(let call):
            let (provider, served) = state.withLock { ($0.provider, $0.calls[call]) }
            served?.isCancelled.store(true, ordering: .sequentiallyConsistent)
            if served != nil { provider?.cancel(call) }
        case .grant(let call, let events, let bytes):
            let (provider, served) = state.withLock { ($0.provider, $0.calls[call]) }
            for _ in 0..<(served?.grant(events: events, bytes: bytes) ?? 0) { provider?.resume(call) }
        case .stop(let call): state.withLock { $0.calls[call] }?.stop()
        case .answer(let question, let result, let file): questions.answer(question, result, file)
        case .close: channel.close()
        }
        return nil
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

    private func invoke(_ id: UInt64, _ operation: Int, _ isStream: Bool, _ arguments: Payload) -> Job? {
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
            call.fail(HostError("plugin.failed", "The \(family) plugin has no operation \(operation) to run now."))
            return nil
        }
        return {
            // It may have waited for a thread until nobody wanted it any more.
            guard !call.isCancelled.load(ordering: .sequentiallyConsistent) else { return call.fail(.cancelled) }
            provider.invoke(operation, call: id, arguments: arguments, sink: call)
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
