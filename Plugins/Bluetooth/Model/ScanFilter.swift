import ApsuleDBus
import ApsuleKit

/// What a scan reports; BlueZ merges the filters of all its clients, so each is applied again here.
struct ScanFilter: Sendable {
    /// Any of these must be advertised; empty: all devices.
    var services: Set<BluetoothUUID> = []
    var name: String?
    var namePrefix: String?
    /// dBm.
    var minRssi: Int?

    init() {}

    init(_ call: Arguments) throws(HostError) {
        let services: [ServiceName] = try call["services"] ?? []
        self.services = Set(services.map(\.uuid))
        name = try call["name"]
        namePrefix = try call["namePrefix"]
        minRssi = try call["minRssi"]
    }

    func matches(_ device: Device) -> Bool {
        if let minRssi {
            guard let rssi = device.rssi, rssi >= minRssi else { return false }
        }
        if !services.isEmpty, !device.services.contains(where: services.contains) { return false }
        if let name, device.name != name { return false }
        if let namePrefix {
            // By bytes: Swift's own comparison would also match other spellings of the same character.
            guard let name = device.name, name.utf8.starts(with: namePrefix.utf8) else { return false }
        }
        return true
    }

    /// What BlueZ may leave out already.
    var discovery: DiscoveryMachine.Filter {
        DiscoveryMachine.Filter(services: services.isEmpty ? nil : services, minRssi: minRssi)
    }
}

extension DiscoveryMachine.Filter {
    /// As SetDiscoveryFilter takes it.
    ///
    /// Without a filter BlueZ leaves out devices that are not discoverable.
    var options: DBusValue {
        var entries: [(String, DBusValue)] = [("Transport", .string("le")), ("DuplicateData", .bool(true))]
        if let services { entries.append(("UUIDs", .strings(services.map(\.full).sorted()))) }
        if let minRssi { entries.append(("RSSI", .int16(Int16(clamping: minRssi)))) }
        return .dictionary(entries.map { DBusValue.Entry(.string($0.0), .variant($0.1)) }, element: "{sv}")
    }
}
