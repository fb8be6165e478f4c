import ApsuleDBus
import ApsuleKit

extension BluetoothFamily {
    /// Delivers a characteristic's notifications or indications, each and in order, until cancelled.
    ///
    /// BlueZ tells a value that was read in the same way, so a `read` of the characteristic shows here as well.
    ///
    /// - Parameter call: `{deviceId, serviceId?, characteristicId, encoding?}`.
    /// - Throws: `bluetooth.disconnected` when the link is lost, `receiver_too_slow`, and what `read` throws.
    func subscribe(_ call: Call, _ events: EventStream) async throws -> JSON {
        let form: ValueForm = try call["encoding"] ?? .base64
        let (connection, characteristic) = try characteristic(call)
        guard characteristic.canNotify else { throw BluezErrors.lacks("notifications", characteristic) }
        let (values, value) = AsyncThrowingStream<[UInt8], any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(4096))
        let losing = connections.listen { event in
            if case .disconnected(let lost, let reason) = event, lost.id == connection.id {
                value.finish(throwing: BluezErrors.ended(reason))
            }
        }
        defer { losing.cancel() }
        let subscription = try await notifications.start(characteristic.path) { bytes in
            if case .dropped = value.yield(bytes) { value.finish(throwing: BluezErrors.receiverTooSlow) }
        }
        defer { subscription.cancel() }
        guard connections[connection.id] != nil else { throw BluezErrors.disconnected }
        events.open()
        for try await bytes in values { try await events.send("value", form.message(bytes)) }
        return .null
    }
}

extension BluezErrors {
    static let receiverTooSlow = make(
        "receiver_too_slow", "4096 notifications were waiting: the project does not take them as fast as they come.")

    static func ended(_ reason: Connections.Reason) -> HostError {
        switch reason {
        case .requested: make("disconnected", "The connection was ended.")
        case .lost: make("disconnected", "The link to the device was lost.")
        case .daemonStopped: make("disconnected", "The Bluetooth daemon stopped.")
        }
    }
}
