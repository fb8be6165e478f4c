import ApsuleDBus
import ApsuleKit

/// BlueZ's errors as this family's, one code for each thing that a caller would do differently.
///
/// Source: <https://github.com/bluez/bluez/blob/master/src/error.c>
enum BluezErrors {
    /// What was asked of BlueZ, where the same error means different things.
    enum Context: Sendable { case adapter, device, attribute, pairing }

    static func hostError(_ error: DBusError, _ context: Context) -> HostError {
        switch error.kind {
        case .cancelled: return .cancelled
        case .closed, .unreachable: return daemonMissing("The system message bus is not reachable: \(error.message)")
        case .timedOut: return make("no_answer", "Bluetooth gave no answer in time.", error)
        case .invalid: return make("failed", error.message, error)
        case .remote: break
        }
        let prefix = "org.bluez.Error."
        if error.name.hasPrefix(prefix) { return bluez(String(error.name.dropFirst(prefix.count)), error, context) }
        return bus(error, context)
    }

    private static func bus(_ error: DBusError, _ context: Context) -> HostError {
        let prefix = "org.freedesktop.DBus.Error."
        let name = error.name.hasPrefix(prefix) ? String(error.name.dropFirst(prefix.count)) : error.name
        switch name {
        case "AccessDenied", "AuthFailed", "InteractiveAuthorizationRequired": return accessDenied
        case "ServiceUnknown", "NameHasNoOwner", "Disconnected":
            return daemonMissing("The Bluetooth daemon does not run.")
        case _ where name.hasPrefix("Spawn."):
            return daemonMissing("The Bluetooth daemon could not be started: \(error.message)")
        case "NoReply", "Timeout", "TimedOut": return make("no_answer", "Bluetooth gave no answer in time.", error)
        case "UnknownObject", "UnknownMethod", "UnknownInterface":
            switch context {
            case .adapter: return adapterMissing
            case .device, .pairing: return deviceNotFound
            case .attribute: return make("attribute_gone", "The device no longer shows this attribute.", error)
            }
        case "InvalidArgs", "InvalidSignature": return make("invalid_request", error.message, error)
        default: return make("failed", error.message, error)
        }
    }

    private static func bluez(_ name: String, _ error: DBusError, _ context: Context) -> HostError {
        switch name {
        case "NotReady": return adapterOff
        case "NoSuchAdapter": return adapterMissing
        case "InProgress", "Busy": return make("in_progress", "BlueZ is busy with the same request already.", error)
        case "NotConnected": return disconnected
        case "AlreadyConnected": return make("already_connected", "The device is connected already.", error)
        case "AlreadyExists": return make("already_paired", "The device is paired already.", error)
        case "DoesNotExist":
            return context == .attribute ? make("attribute_gone", "The attribute is gone.", error) : deviceNotFound
        case "NotSupported", "Unsupported":
            return make("not_supported", "The device does not allow this: \(error.message)", error)
        case "NotPermitted" where error.message.contains("acquired"):
            return make("notify_in_use", "Another program has taken this characteristic's notifications.", error)
        case "NotPermitted": return make("not_permitted", "The device refuses this: \(error.message)", error)
        case "NotAuthorized": return pairingRequired(error)
        case "InvalidOffset": return make("invalid_request", "The offset is past the end of the value.", error)
        case "InvalidValueLength": return make("value_too_long", "The device takes no value of this length.", error)
        case "InvalidArguments", "InvalidArgs":
            if error.message.contains("Length") {
                return make("value_too_long", "The value is longer than an attribute can be.", error)
            }
            return make("invalid_request", error.message, error)
        case "AuthenticationFailed": return make("pairing_failed", "The pairing failed.", error)
        case "AuthenticationCanceled", "Canceled":
            return make("pairing_cancelled", "The pairing was cancelled.", error)
        case "AuthenticationRejected", "Rejected":
            return make("pairing_rejected", "The device or a person rejected the pairing.", error)
        case "AuthenticationTimeout": return make("pairing_timeout", "The pairing was not finished in time.", error)
        case "ConnectionAttemptFailed": return connectFailed("The device could not be reached.", error)
        case "AgentNotAvailable": return make("pairing_failed", "Nobody could answer the pairing.", error)
        case "Blocked": return make("device_blocked", "The device is blocked in this machine's settings.", error)
        case "NotAvailable": return make("not_available", "BlueZ cannot do this now: \(error.message)", error)
        case "Failed": return failed(error, context)
        default: return make("failed", error.message, error)
        }
    }

    /// BlueZ's `Failed` says what happened in its message only.
    private static func failed(_ error: DBusError, _ context: Context) -> HostError {
        let message = error.message
        if let code = attError(message) { return att(code, error) }
        switch message.lowercased() {
        case "not connected": return disconnected
        case "not paired": return pairingRequired(error)
        case "no notify session started": return make("not_subscribed", "No subscription is on.", error)
        case "no discovery started": return make("not_scanning", "No scan is running.", error)
        case "adapter not powered", "le-connection-adapter-not-powered", "br-connection-adapter-not-powered":
            return adapterOff
        case _ where message.contains("-connection-"):
            return connectFailed("The device could not be reached (\(message)).", error)
        default: return make("failed", "BlueZ: \(message)", error)
        }
    }

    /// The number in “Operation failed with ATT error: 0x80”.
    static func attError(_ message: String) -> Int? {
        guard let range = message.firstRange(of: "ATT error: 0x") else { return nil }
        return Int(message[range.upperBound...].prefix { $0.isHexDigit }, radix: 16)
    }

    private static func att(_ code: Int, _ error: DBusError) -> HostError {
        let text = attNames[code] ?? (code >= 0x80 ? "an error of the device's own" : "an unknown error")
        var result = make(
            "att_error", "The device answered with ATT error 0x\(String(code, radix: 16)): \(text).", error)
        result.details.set("attError", .int(Int64(code)))
        return result
    }

    /// Source: Bluetooth Core Specification, Vol 3, Part F, 3.4.1.1.
    private static let attNames: [Int: String] = [
        0x01: "invalid handle", 0x02: "read not permitted", 0x03: "write not permitted", 0x04: "invalid PDU",
        0x05: "insufficient authentication", 0x06: "request not supported", 0x07: "invalid offset",
        0x08: "insufficient authorization", 0x09: "prepare queue full", 0x0a: "attribute not found",
        0x0b: "attribute not long", 0x0c: "encryption key too short", 0x0d: "invalid attribute value length",
        0x0e: "unlikely error", 0x0f: "insufficient encryption", 0x10: "unsupported group type",
        0x11: "insufficient resources", 0xfc: "write request rejected", 0xfd: "client configuration improper",
        0xfe: "procedure already in progress", 0xff: "out of range",
    ]

    static func make(_ code: String, _ message: String, _ error: DBusError? = nil, fix: String? = nil) -> HostError {
        var details: JSON = .object([])
        // An object path in a message would give the device's address away.
        if let error, !error.name.isEmpty {
            let isPrivate = error.message.contains("dev_")
            details.set("bluez", .string(isPrivate ? error.name : "\(error.name): \(error.message)"))
        }
        if let fix { details.set("fix", .string(fix)) }
        return HostError("bluetooth.\(code)", message, details: details)
    }
}
