internal import Synchronization

/// What is known of the calls that run, by their id.
final class LiveCalls<Value: Sendable>: Sendable {
    private let calls = Mutex<[UInt64: Value]>([:])

    func set(_ call: UInt64, _ value: Value) { calls.withLock { $0[call] = value } }

    subscript(call: UInt64) -> Value? { calls.withLock { $0[call] } }

    @discardableResult
    func remove(_ call: UInt64) -> Value? { calls.withLock { $0.removeValue(forKey: call) } }
}
