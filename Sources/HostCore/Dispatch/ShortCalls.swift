import ApsuleKit
import Glibc
import Synchronization

/// A call that was refused before it had an id: unknown, malformed, too large, or too many.
final class RefusedCall: RunningCall {
    let id: UInt64 = 0
    let isStream = false

    init(_ error: HostError, _ observer: any CallObserver) {
        observer.answered(self, .failure(error))
    }

    func cancel() {}
    func next() -> StreamItem? { nil }
}

/// Takes the answer of an inline operation, which the plugin owes before `invoke` returns.
final class InlineSink: CallSink {
    let isStream = false
    private let answer = Mutex(Answer())
    private let operation: OperationDescriptor

    /// The first of the two that comes; no enum, which takes longer to tell apart.
    private struct Answer {
        var result: Payload?
        var error: HostError?
        var isMissing: Bool { result == nil && error == nil }
    }

    init(_ operation: OperationDescriptor) { self.operation = operation }

    var result: Result<Payload, HostError> {
        let answer = answer.withLock { $0 }
        if let result = answer.result { return .success(result) }
        return .failure(
            answer.error
                ?? HostError("plugin.protocol_error", "\(operation.fullName) is inline but did not answer at once."))
    }

    func reply(_ result: Payload?) { answer.withLock { if $0.isMissing { $0.result = result ?? .null } } }
    func fail(_ error: HostError) { answer.withLock { if $0.isMissing { $0.error = error } } }
    func event(_ name: String, _ payload: Payload?) -> Flow { .stop }
    func end(_ final: Payload?) { fail(HostError("plugin.protocol_error", "\(operation.fullName) is no stream.")) }
    /// Opening a file may block, which an inline operation must not.
    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 { -EPERM }
    func allows(_ scope: String, _ value: String) -> Bool { false }
}
