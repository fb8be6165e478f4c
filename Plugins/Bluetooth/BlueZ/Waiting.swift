import ApsuleDBus
import ApsuleKit

extension OneShot {
    /// Waits for the answer, at most for a time.
    func value(within time: Duration, otherwise error: HostError) async throws(HostError) -> Value {
        let timer = Task { [self] in
            try await Task.sleep(for: time)
            finish(.failure(error))
        }
        defer { timer.cancel() }
        do {
            return try await value()
        } catch {
            throw error as? HostError ?? .cancelled
        }
    }
}

extension Bluez {
    /// Waits until `outcome` says something of a device: by its current state, or by a later one.
    ///
    /// - Throws: what `outcome` gives, `error` after the time, or that the device or the daemon went away.
    func wait(
        _ path: String, within time: Duration, otherwise error: HostError,
        until outcome: @escaping @Sendable (Device) -> Result<Void, HostError>?
    ) async throws(HostError) {
        let answer = OneShot<Void>()
        let listening = listen { change in
            switch change {
            case .object(.device(let device, _)) where device.path == path:
                if let outcome = outcome(device) { answer.finish(outcome.mapError { $0 }) }
            case .object(.deviceRemoved(let device)) where device.path == path:
                answer.finish(.failure(BluezErrors.deviceNotFound))
            case .daemon(isRunning: false): answer.finish(.failure(BluezErrors.daemonStopped))
            default: break
            }
        }
        defer { listening.cancel() }
        guard let device = device(path) else { throw BluezErrors.deviceNotFound }
        if let outcome = outcome(device) { answer.finish(outcome.mapError { $0 }) }
        try await answer.value(within: time, otherwise: error)
    }
}
