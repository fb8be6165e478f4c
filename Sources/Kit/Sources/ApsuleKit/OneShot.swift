internal import Synchronization

/// The answer of one C callback, awaited once.
///
/// A later answer, or one after cancellation, is dropped.
///
///     let answer = OneShot<Int>()
///     start(callback, answer.retained())        // the callback calls OneShot<Int>.take(pointer).finish(…)
///     let value = try await answer.value()
public final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Value, any Error>)
        case done(Result<Value, any Error>)
        case taken
    }

    private let state = Mutex(State.idle)

    public init() {}

    /// Gives the answer; only the first one counts.
    ///
    /// Any thread.
    public func finish(_ result: Result<Value, any Error>) {
        let waiting: CheckedContinuation<Value, any Error>? = state.withLock { state in
            switch state {
            case .idle:
                state = .done(result)
                return nil
            case .waiting(let continuation):
                state = .taken
                return continuation
            case .done, .taken: return nil
            }
        }
        waiting?.resume(with: result)
    }

    /// Waits for the answer.
    ///
    /// Throws what `finish` was given, or `CancellationError`.
    public func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let early: Result<Value, any Error>? = state.withLock { state in
                    if case .done(let result) = state {
                        state = .taken
                        return result
                    }
                    state = .waiting(continuation)
                    return nil
                }
                if let early { continuation.resume(with: early) }
            }
        } onCancel: {
            finish(.failure(CancellationError()))
        }
    }

    /// A pointer with +1 for a C callback's user data; `take` gives the reference back.
    public func retained() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// The object behind a `retained` pointer, whose +1 this consumes: once, in the callback or when the start failed.
    public static func take(_ pointer: UnsafeMutableRawPointer) -> OneShot {
        Unmanaged<OneShot>.fromOpaque(pointer).takeRetainedValue()
    }
}
