internal import Synchronization

/// One answer that a thread waits for.
public final class OneAnswer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let given = Signal()

    public init() {}

    /// Gives the answer; only the first one counts.
    public func give(_ answer: Value) {
        value.withLock { if $0 == nil { $0 = answer } }
        given.post()
    }

    /// The answer, as soon as it is there; for one thread.
    public func wait() -> Value {
        while true {
            given.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }

    /// The answer; nil where none came in time.
    func wait(milliseconds: Int) -> Value? {
        _ = given.wait(milliseconds: milliseconds)
        return value.withLock { $0 }
    }
}
