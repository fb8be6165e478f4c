import ApsuleDBus
import ApsuleKit

/// A Bluetooth radio as BlueZ shows it.
///
/// Source: <https://github.com/bluez/bluez/blob/master/doc/org.bluez.Adapter.rst>
struct Adapter: Sendable, Hashable {
    let path: String
    var alias = ""
    var isPowered = false
    var isDiscovering = false
    /// `off-blocked` where BlueZ itself knows of an rfkill block; it tells from 5.65 on, with experimental features.
    var powerState: String?
    var modalias: String?

    init(path: String) { self.path = path }

    /// The kernel's name: `hci0`.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// BlueZ's version, which it puts into the device id of its adapters unless the owner configured another.
    var bluezVersion: String? {
        guard let modalias, let range = modalias.firstRange(of: "v1D6Bp0246d"),
            let number = UInt16(modalias[range.upperBound...].prefix(4), radix: 16)
        else { return nil }
        return "\(number >> 8).\(number & 0xff)"
    }

    mutating func apply(_ properties: [DBusValue.Entry]) {
        for property in properties {
            switch property.key.stringValue {
            case "Alias": alias = property.value.stringValue ?? alias
            case "Powered": isPowered = property.value.boolValue ?? isPowered
            case "Discovering": isDiscovering = property.value.boolValue ?? isDiscovering
            case "PowerState": powerState = property.value.stringValue
            case "Modalias": modalias = property.value.stringValue
            default: break
            }
        }
    }
}
