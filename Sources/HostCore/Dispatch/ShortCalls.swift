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
    private let answer = Mutex<Result<Payload, HostError>?>(nil)
    private let dispatcher: Dispatcher
    private let operation: OperationDescriptor

    init(_ dispatcher: Dispatcher, _ operation: OperationDescriptor) {
        (self.dispatcher, self.operation) = (dispatcher, operation)
    }

    func result(_ operation: OperationDescriptor) -> Result<Payload, HostError> {
        answer.withLock { $0 }
            ?? .failure(
                HostError("plugin.protocol_error", "\(operation.fullName) is inline but did not answer at once."))
    }

    private func take(_ result: Result<Payload, HostError>) {
        answer.withLock { if $0 == nil { $0 = result } }
    }

    func reply(_ result: Payload?) { take(.success(result ?? .null)) }
    func fail(_ error: HostError) { take(.failure(error)) }
    func event(_ name: String, _ payload: Payload?) -> Flow { .stop }
    func end(_ final: Payload?) { fail(HostError("plugin.protocol_error", "\(operation.fullName) is no stream.")) }
    /// Opening a file may block, which an inline operation must not.
    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 { -EPERM }
    func allows(_ scope: String, _ value: String) -> Bool { false }
}
