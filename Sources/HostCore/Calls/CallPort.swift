public import ApsuleKit

/// Where front ends start calls: JavaScript, the command line, the Relay.
public protocol CallPort: AnyObject, Sendable {
    /// The families that can be called, for proxies.
    var families: [Descriptor] { get }

    /// Starts a call; `observer` hears of its end exactly once, perhaps before this returns.
    @discardableResult
    func start(_ operation: String, _ arguments: Payload, timeoutMs: Int?, observer: any CallObserver)
        -> any RunningCall

    /// Answers an inline operation on the caller's thread; nil where it must be started instead.
    func answerInline(_ operation: OperationDescriptor, _ arguments: Payload) -> Result<Payload, HostError>?
}

/// Hears what becomes of calls.
///
/// Any thread.
public protocol CallObserver: AnyObject, Sendable {
    /// The answer of a call, or how the opening of a stream went. Exactly once.
    func answered(_ call: any RunningCall, _ result: Result<Payload, HostError>)

    /// A stream has something to take: pull with `next` until it gives nil.
    func eventsReady(_ call: any RunningCall)
}

/// One call that was started.
public protocol RunningCall: AnyObject, Sendable {
    var id: UInt64 { get }
    /// Whether it delivers events after its answer.
    var isStream: Bool { get }

    /// Ends the call with `host.cancelled`; a stream that is open ends with `end {reason: "cancelled"}`.
    func cancel()

    /// The next thing a stream delivered, in order; nil where there is nothing now.
    func next() -> StreamItem?
}

/// What a stream delivers.
///
/// After `end` or `failed` comes nothing more.
public enum StreamItem: Sendable {
    case event(name: String, Payload)
    /// `reason`: `finished`, `cancelled` or `revoked`.
    case end(Payload?, reason: String)
    case failed(HostError)
}
