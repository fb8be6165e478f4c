import ApsuleDBus
import ApsuleKit

extension BluetoothFamily {
    /// Reads a characteristic.
    ///
    /// - Parameter call: `{deviceId, serviceId?, characteristicId, encoding?}`.
    /// - Returns: `{value}`: Base64, hexadecimal or a `Uint8Array`.
    /// - Throws: `bluetooth.not_supported`, `att_error`, `pairing_required`, `disconnected`, `no_answer`, …
    func read(_ call: Call) async throws -> Message {
        let form: ValueForm = try call["encoding"] ?? .base64
        let (connection, characteristic) = try characteristic(call)
        guard characteristic.flags.contains("read") else { throw BluezErrors.lacks("reading", characteristic) }
        let answer = try await request(characteristic, connection, "ReadValue", .dictionary([:]))
        guard let bytes = answer.first?.bytesValue else { throw BluezErrors.make("failed", "BlueZ gave no value.") }
        return form.message(bytes)
    }

    /// Writes a characteristic.
    ///
    /// - Parameter call: `{deviceId, serviceId?, characteristicId, value, withResponse?}`; without `withResponse` a
    ///   response is asked for where the characteristic gives one.
    /// - Returns: `{written}` in bytes.
    /// - Throws: `bluetooth.value_too_long` and what `read` throws.
    func write(_ call: Call) async throws -> JSON {
        let value = try (call["value"] as Bytes).bytes
        let wanted: Bool? = try call["withResponse"]
        let (connection, characteristic) = try characteristic(call, writing: true)
        let withResponse = wanted ?? characteristic.flags.contains("write")
        guard characteristic.flags.contains(withResponse ? "write" : "write-without-response") else {
            throw BluezErrors.lacks(
                withResponse ? "writing with a response" : "writing without a response", characteristic)
        }
        // A value that a single packet cannot carry is written in parts, which needs responses.
        let limit = withResponse ? 512 : min(512, (characteristic.mtu ?? 23) - 3)
        guard value.count <= limit else {
            var error = BluezErrors.make("value_too_long", "The value has \(value.count) bytes, \(limit) are allowed.")
            error.details.set("maximum", .int(Int64(limit)))
            throw error
        }
        let type = DBusValue.string(withResponse ? "request" : "command")
        _ = try await request(characteristic, connection, "WriteValue", .bytes(value), .dictionary(["type": type]))
        return ["written": .int(Int64(value.count))]
    }

    /// Longer than the 30 s after which a silent peer breaks the link is of no use; a pairing that BlueZ starts by itself
    /// and nobody answers would wait for ever.
    private func request(
        _ characteristic: Characteristic, _ connection: Connections.Connection, _ method: String,
        _ arguments: DBusValue...
    ) async throws(HostError) -> [DBusValue] {
        let call = DBusCall(
            Bluez.name, characteristic.path, "org.bluez.GattCharacteristic1", method, arguments, timeout: .seconds(25))
        do throws(HostError) {
            return try await bluez.call(call, context: .attribute)
        } catch {
            if connections[connection.id] == nil, error.code != HostError.cancelled.code {
                throw BluezErrors.disconnected
            }
            guard error.code == "bluetooth.no_answer", bluez.device(connection.path)?.isPaired == false else {
                throw error
            }
            var hinted = error
            hinted.details.set("fix", "The device may wait to be paired: call bluetooth.pair first.")
            throw hinted
        }
    }
}

/// How a caller wants binary values.
enum ValueForm: String, ArgumentValue, CaseIterable {
    case base64, hex, bytes

    func message(_ value: [UInt8]) -> Message {
        guard case .bytes = self else { return Message(["value": .string(text(value))]) }
        var message = Message()
        message.json = ["value": message.attach(value)]
        return message
    }

    func text(_ value: [UInt8]) -> String { self == .hex ? Self.hexadecimal(value) : Base64.encode(value) }

    private static func hexadecimal(_ value: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: value.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension BluezErrors {
    static func lacks(_ ability: String, _ characteristic: Characteristic) -> HostError {
        var error = make("not_supported", "The characteristic \(characteristic.uuid.text) does not allow \(ability).")
        error.details.set("properties", .array(characteristic.flags.map { .string($0) }))
        return error
    }
}
