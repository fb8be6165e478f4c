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

/// Runs `body`; where it takes longer than `time` it is cancelled, and `error` thrown.
func within<R: Sendable>(
    _ time: Duration, otherwise error: HostError, _ body: @escaping @Sendable () async throws(HostError) -> R
) async throws(HostError) -> R {
    let end = ContinuousClock.now + time
    let work = Task { () async -> Result<R, HostError> in
        do throws(HostError) { return .success(try await body()) } catch { return .failure(error) }
    }
    let timer = Task {
        try await Task.sleep(until: end)
        work.cancel()
    }
    defer { timer.cancel() }
    let outcome = await withTaskCancellationHandler {
        await work.value
    } onCancel: {
        work.cancel()
    }
    if case .failure(.cancelled) = outcome, !Task.isCancelled { throw error }
    return try outcome.get()
}

extension Bluez {
    /// Waits until `outcome` says something of a device: by its current state, or by a later one.
    ///
    /// - Throws: what `outcome` gives, `error` after the time, or that the device or the radio went away.
    func wait(
        _ path: String, within time: Duration, otherwise error: HostError,
        until outcome: @escaping @Sendable (Device) -> Result<Void, HostError>?
    ) async throws(HostError) {
        let answer = OneShot<Void>()
        let listening = listen { [weak self] change in
            if case .object(.device(let device, _)) = change, device.path == path {
                if let outcome = outcome(device) { answer.finish(outcome.mapError { $0 }) }
            } else if let loss = self?.loss(of: path, by: change) {
                answer.finish(.failure(loss))
            }
        }
        defer { listening.cancel() }
        guard let device = device(path) else { throw BluezErrors.deviceNotFound }
        if let outcome = outcome(device) { answer.finish(outcome.mapError { $0 }) }
        try await answer.value(within: time, otherwise: error)
    }

    /// Calls a method whose answer may never come, since BlueZ forgets the device meanwhile.
    ///
    /// - Throws: what BlueZ answers; at once that it has forgotten the device or that the radio went away, and
    ///   `device_not_found` where it was about to forget the device.
    func call(_ call: DBusCall, whileThereIs path: String) async throws(HostError) {
        let answer = OneShot<Void>()
        let start = ContinuousClock.now
        let listening = listen { [weak self] change in
            guard let loss = self?.loss(of: path, by: change) else { return }
            let isGivenUp = loss == BluezErrors.deviceNotFound && ContinuousClock.now - start > .seconds(1)
            answer.finish(.failure(isGivenUp ? BluezErrors.forgotten : loss))
        }
        defer { listening.cancel() }
        guard device(path) != nil else { throw BluezErrors.deviceNotFound }
        let pending = try await connection().send(call) { result in
            answer.finish(result.map { _ in }.mapError { BluezErrors.hostError($0, .device) })
        }
        defer { pending.cancel() }
        do {
            try await answer.value()
        } catch {
            throw error as? HostError ?? .cancelled
        }
    }

    /// Why a device can no longer be waited for.
    private func loss(of path: String, by change: Change) -> HostError? {
        switch change {
        case .object(.deviceRemoved(let device)) where device.path == path: return BluezErrors.deviceNotFound
        case .object(.adapter(let adapter)) where path.hasPrefix(adapter + "/"):
            guard let isPowered = read({ $0.adapters[adapter]?.isPowered }) else { return BluezErrors.adapterMissing }
            return isPowered ? nil : BluezErrors.adapterOff
        case .daemon(isRunning: false): return BluezErrors.daemonStopped
        default: return nil
        }
    }
}
