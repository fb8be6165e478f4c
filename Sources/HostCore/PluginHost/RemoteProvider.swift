public import ApsuleKit
internal import Synchronization

/// Serves a family by a plugin in a process of its own, which is started at the first call and again after a crash.
///
/// A crash is one error: calls that were running fail with `plugin.crashed`, the next one starts a new process. After
/// three crashes within five minutes the family stays stopped, and says so.
public final class RemoteProvider: Provider {
    public let operations: [String]
    public var answersInline: Bool { false }
    private let descriptor: Descriptor
    private let project: JSON
    private let host: any ProviderHost
    private let launch: PluginHostConnection.Launch
    private let onCrash: @Sendable (HostError) -> Void
    private let state: Mutex<State>
    private let opening = Mutex(())

    private struct State {
        var session: RemoteSession?
        var policy: RestartPolicy
        var isClosed = false
        var forgeries = 0
    }

    /// - Parameters:
    ///   - project: `{"id", "settings"}`, what the plugin's `open` gets.
    ///   - onCrash: hears of each crash, with the error that its calls failed with.
    public init(
        _ descriptor: Descriptor, project: JSON, host: any ProviderHost, policy: RestartPolicy = RestartPolicy(),
        onCrash: @escaping @Sendable (HostError) -> Void = { _ in }, launch: @escaping PluginHostConnection.Launch
    ) {
        operations = descriptor.operations.map(\.name)
        (self.descriptor, self.project, self.host, self.launch) = (descriptor, project, host, launch)
        self.onCrash = onCrash
        state = Mutex(State(policy: policy))
    }

    public func invoke(_ operation: Int, call: UInt64, arguments: Payload, sink: any CallSink) {
        do throws(HostError) {
            try session().invoke(operations[operation], call: call, arguments: arguments, sink: sink)
        } catch {
            sink.fail(error)
        }
    }

    public func cancel(_ call: UInt64) { current?.cancel(call) }

    public func resume(_ call: UInt64) { current?.resume(call) }

    public func overdue(_ call: UInt64) { current?.overdue(call) }

    public func close() {
        let session = state.withLock { state in
            defer { state.session = nil }
            state.isClosed = true
            return state.session
        }
        session?.close()
    }

    /// Lets a family that was stopped after its crashes start again.
    public func reset() { state.withLock { $0.policy.reset() } }

    /// How many answers named a call that does not run, from all its processes so far.
    public var forgeries: Int { state.withLock { $0.forgeries + ($0.session?.forgeries ?? 0) } }

    private var current: RemoteSession? { state.withLock { $0.session } }

    private func session() throws(HostError) -> RemoteSession {
        if let current, current.isOpen { return current }
        // One at a time starts the process, which takes milliseconds; the others wait for it.
        let result: Result<RemoteSession, HostError> = opening.withLock { _ in
            if let current, current.isOpen { return .success(current) }
            do throws(HostError) {
                try checkPolicy()
                let session = RemoteSession(try launch(), descriptor: descriptor, host: host) { [weak self] in
                    self?.ended($0, $1)
                }
                state.withLock { $0.session = session }
                try session.open(project)
                guard !state.withLock({ $0.isClosed }) else {
                    session.close()
                    throw .cancelled
                }
                return .success(session)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func checkPolicy() throws(HostError) {
        let (verdict, isClosed) = state.withLock { ($0.policy.verdict(at: Clock.now), $0.isClosed) }
        if isClosed { throw .cancelled }
        switch verdict {
        case .start: return
        case .wait(let milliseconds):
            throw HostError(
                "plugin.crashed", "The \(descriptor.family) plugin crashed and starts again in \(milliseconds) ms.",
                details: ["family": .string(descriptor.family), "retryAfterMs": .int(milliseconds)])
        case .stopped(let count):
            throw HostError(
                "plugin.crashed",
                "The \(descriptor.family) plugin crashed \(count) times within five minutes and was stopped.",
                details: [
                    "family": .string(descriptor.family), "crashes": .int(Int64(count)),
                    "fix": "Start the project again, and look at its log for why the plugin crashed.",
                ])
        }
    }

    /// - Parameter error: the crash; nil where the process ended as it was told to.
    private func ended(_ session: RemoteSession, _ error: HostError?) {
        let isCrash = state.withLock { state in
            state.forgeries += session.forgeries
            if state.session === session { state.session = nil }
            guard error != nil, !state.isClosed else { return false }
            state.policy.crashed(at: Clock.now)
            return true
        }
        guard isCrash, let error else { return }
        host.log(.error, family: descriptor.family, error.message)
        onCrash(error)
    }
}
