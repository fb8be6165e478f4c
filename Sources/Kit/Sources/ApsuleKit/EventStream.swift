internal import CApsule
internal import Synchronization

/// The sending side of one stream.
///
///     func watch(_ call: Call, _ events: EventStream) async throws -> JSON {
///         events.open(["id": "1"])
///         for await value in source { try await events.send("change", ["value": value]) }
public final class EventStream: Sendable {
    private let call: Call
    private let state = Mutex(State())

    private struct State {
        var isOpen = false
        var isStopped = false
        /// Holds minus resumes; a resume may arrive before its hold is known, so this can be negative.
        var holds = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    init(_ call: Call) { self.call = call }

    /// Answers the call that opened the stream, with the members of its handle; only the first answer counts.
    ///
    /// A stream that never says so is opened with `{}` by its first event or its end.
    public func open(_ handle: JSON = .object([])) {
        let first = state.withLock { state in
            defer { state.isOpen = true }
            return !state.isOpen
        }
        if first { call.link.reply(call.id, Message(handle)) }
    }

    /// Delivers an event, and waits while the receiver is behind.
    ///
    /// - Throws: `CancellationError` when nobody listens any more.
    public func send(_ event: String, _ payload: some MessageConvertible = JSON.object([])) async throws {
        guard post(event, payload) else { throw CancellationError() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let go = state.withLock { state in
                    if state.holds <= 0 || state.isStopped || Task.isCancelled { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if go { continuation.resume() }
            }
        } onCancel: {
            stop()
        }
        try Task.checkCancellation()
    }

    /// Delivers an event without waiting, for sources that cannot be slowed down (`"delivery": "latest"`).
    ///
    /// - Returns: false when nobody listens any more.
    @discardableResult
    public func post(_ event: String, _ payload: some MessageConvertible = JSON.object([])) -> Bool {
        open()
        guard !state.withLock({ $0.isStopped }) else { return false }
        switch UInt32(bitPattern: call.link.event(call.id, event, payload.message)) {
        case APSULE_CONTINUE.rawValue: return true
        case APSULE_HOLD.rawValue:
            state.withLock { $0.holds += 1 }
            return true
        default:
            stop()
            return false
        }
    }

    /// Delivers an event written as a literal, `["value": 1]`, and waits while the receiver is behind.
    public func send(_ event: String, _ payload: JSON) async throws { try await send(event, payload.message) }

    /// Delivers an event written as a literal, `["value": 1]`, without waiting.
    @discardableResult
    public func post(_ event: String, _ payload: JSON) -> Bool { post(event, payload.message) }

    /// Returns when the stream is cancelled: for a stream whose events come from callbacks that `post`.
    public func untilCancelled() async {
        let stopped = OneShot<Void>()
        call.onCancel { stopped.finish(.success(())) }
        try? await stopped.value()
    }

    func resume() {
        let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.holds -= 1
            guard state.holds <= 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in ready { continuation.resume() }
    }

    func stop() {
        let waiting = state.withLock { state in
            state.isStopped = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
