import ApsuleDBus
import ApsuleKit

/// A peripheral as BlueZ shows it, with what it advertised last.
///
/// Source: <https://github.com/bluez/bluez/blob/master/doc/org.bluez.Device.rst>
struct Device: Sendable, Hashable {
    struct ManufacturerData: Sendable, Hashable {
        let company: UInt16
        let bytes: [UInt8]
    }

    struct ServiceData: Sendable, Hashable {
        let service: BluetoothUUID
        let bytes: [UInt8]
    }

    let path: String
    var address = ""
    var addressType = "public"
    var name: String?
    /// In dBm; BlueZ takes it away when discovery ends, so its presence means a signal of the running discovery.
    var rssi: Int?
    /// In dBm, as advertised.
    var txPower: Int?
    var services: [BluetoothUUID] = []
    var manufacturerData: [ManufacturerData] = []
    var serviceData: [ServiceData] = []
    var appearance: Int?
    var isPaired = false
    var isConnected = false
    var areServicesResolved = false

    init(path: String) { self.path = path }

    /// What an advertisement changes, and nothing else does.
    static let advertisedProperties: Set = [
        "RSSI", "TxPower", "ManufacturerData", "ServiceData", "AdvertisingFlags", "AdvertisingData",
    ]

    /// The adapter's path, above the device's.
    var adapterPath: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path }

    /// Takes over changed properties; says whether they come from an advertisement that was just heard.
    @discardableResult
    mutating func apply(_ properties: [DBusValue.Entry], invalidated: [String] = []) -> Bool {
        var isHeard = false
        for property in properties {
            let value = property.value
            switch property.key.stringValue {
            case "Address": address = value.stringValue ?? address
            case "AddressType": addressType = value.stringValue ?? addressType
            case "Name": name = value.stringValue
            case "RSSI":
                rssi = value.intValue
                isHeard = true
            case "TxPower": txPower = value.intValue
            case "UUIDs": services = (value.stringsValue ?? []).compactMap { BluetoothUUID($0) }
            case "ManufacturerData":
                manufacturerData = Self.manufacturerData(value)
                isHeard = true
            case "ServiceData":
                serviceData = Self.serviceData(value)
                isHeard = true
            case "Appearance": appearance = value.intValue
            case "Paired": isPaired = value.boolValue ?? isPaired
            case "Connected": isConnected = value.boolValue ?? isConnected
            case "ServicesResolved": areServicesResolved = value.boolValue ?? areServicesResolved
            default: break
            }
        }
        for name in invalidated {
            switch name {
            case "RSSI": rssi = nil
            case "TxPower": txPower = nil
            default: break
            }
        }
        return isHeard
    }

    /// `a{qv}`, ordered by company.
    private static func manufacturerData(_ value: DBusValue) -> [ManufacturerData] {
        var all = (value.entries ?? []).compactMap { entry -> ManufacturerData? in
            guard let company = entry.key.intValue.flatMap(UInt16.init(exactly:)), let bytes = entry.value.bytesValue
            else { return nil }
            return ManufacturerData(company: company, bytes: bytes)
        }
        if all.count > 1 { all.sort { $0.company < $1.company } }
        return all
    }

    /// `a{sv}`, ordered by service.
    private static func serviceData(_ value: DBusValue) -> [ServiceData] {
        var all = (value.entries ?? []).compactMap { entry -> ServiceData? in
            guard let service = entry.key.stringValue.flatMap({ BluetoothUUID($0) }),
                let bytes = entry.value.bytesValue
            else { return nil }
            return ServiceData(service: service, bytes: bytes)
        }
        if all.count > 1 { all.sort { $0.service.full < $1.service.full } }
        return all
    }
}

extension Device {
    /// What differs between two advertisements beyond the strength of the signal.
    func advertisesSame(as other: Device) -> Bool {
        manufacturerData == other.manufacturerData && serviceData == other.serviceData && name == other.name
            && services == other.services && txPower == other.txPower && appearance == other.appearance
            && isPaired == other.isPaired && isConnected == other.isConnected
    }

    /// The form in which callers get it.
    func json(id: String, _ form: ValueForm = .base64) -> JSON {
        var members: [JSON.Member] = [.init("id", .string(id))]
        if let name { members.append(.init("name", .string(name))) }
        if let rssi { members.append(.init("rssi", .int(Int64(rssi)))) }
        if let txPower { members.append(.init("txPower", .int(Int64(txPower)))) }
        members.append(.init("services", .array(services.map { .string($0.text) })))
        members.append(.init("manufacturerData", .array(manufacturerData.map { $0.json(form) })))
        members.append(.init("serviceData", .array(serviceData.map { $0.json(form) })))
        if let appearance { members.append(.init("appearance", .int(Int64(appearance)))) }
        members.append(.init("paired", .bool(isPaired)))
        members.append(.init("connected", .bool(isConnected)))
        return .object(members)
    }
}

extension Device.ManufacturerData {
    func json(_ form: ValueForm) -> JSON {
        var json: JSON = ["company": .int(Int64(company)), "data": .string(form.text(bytes))]
        if let name = CompanyNames.name(company) { json.set("companyName", .string(name)) }
        return json
    }
}

extension Device.ServiceData {
    func json(_ form: ValueForm) -> JSON { ["service": .string(service.text), "data": .string(form.text(bytes))] }
}
