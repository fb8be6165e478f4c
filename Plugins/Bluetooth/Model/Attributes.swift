import ApsuleDBus
import ApsuleKit

/// A GATT service of a connected device.
///
/// Source: <https://github.com/bluez/bluez/blob/master/doc/org.bluez.GattService.rst>
struct Service: Sendable, Hashable {
    let path: String
    var device = ""
    var uuid = BluetoothUUID(short: 0)
    var isPrimary = true

    init(path: String) { self.path = path }

    mutating func apply(_ properties: [DBusValue.Entry]) {
        for property in properties {
            switch property.key.stringValue {
            case "UUID": uuid = property.value.stringValue.flatMap { BluetoothUUID($0) } ?? uuid
            case "Device": device = property.value.stringValue ?? device
            case "Primary": isPrimary = property.value.boolValue ?? isPrimary
            default: break
            }
        }
    }

    var json: JSON {
        var json: JSON = ["id": .string("#" + handle(of: path)), "uuid": .string(uuid.text)]
        if let name = AssignedNumbers.serviceName(uuid) { json.set("name", .string(name)) }
        json.set("primary", .bool(isPrimary))
        return json
    }
}

/// A GATT characteristic of a connected device.
///
/// Source: <https://github.com/bluez/bluez/blob/master/doc/org.bluez.GattCharacteristic.rst>
struct Characteristic: Sendable, Hashable {
    let path: String
    var service = ""
    var uuid = BluetoothUUID(short: 0)
    var flags: [String] = []
    var isNotifying = false
    /// The ATT MTU of its connection in bytes.
    var mtu: Int?

    init(path: String) { self.path = path }

    var canNotify: Bool { flags.contains("notify") || flags.contains("indicate") }

    /// Takes over changed properties, and gives the value among them.
    @discardableResult
    mutating func apply(_ properties: [DBusValue.Entry]) -> [UInt8]? {
        var bytes: [UInt8]?
        for property in properties {
            switch property.key.stringValue {
            case "UUID": uuid = property.value.stringValue.flatMap { BluetoothUUID($0) } ?? uuid
            case "Service": service = property.value.stringValue ?? service
            case "Flags": flags = property.value.stringsValue ?? flags
            case "Notifying": isNotifying = property.value.boolValue ?? isNotifying
            case "MTU": mtu = property.value.intValue
            case "Value": bytes = property.value.bytesValue
            default: break
            }
        }
        return bytes
    }

    var json: JSON {
        var json: JSON = ["id": .string("#" + handle(of: path)), "uuid": .string(uuid.text)]
        if let name = AssignedNumbers.characteristicName(uuid) { json.set("name", .string(name)) }
        json.set("properties", .array(flags.map { .string($0) }))
        json.set("notifying", .bool(isNotifying))
        if let mtu { json.set("mtu", .int(Int64(mtu))) }
        return json
    }
}

/// The attribute handle that BlueZ puts at the end of a path: `000c` of `…/service000a/char000c`.
func handle(of path: String) -> String { String(path.suffix(4)) }
