internal import Synchronization

/// One answer that a thread waits for.
public final class OneAnswer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let given = Signal()

    public init() {}

    /// Gives the answer, once.
    public func give(_ answer: Value) {
        value.withLock { $0 = answer }
        given.post()
    }

    /// The answer, as soon as it is there; for one thread.
    public func wait() -> Value {
        while true {
            given.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }
}
