import ApsuleKit

/// GATT attributes that a project may not use, since they give more than the device's data.
///
/// The entries are those of the Web Bluetooth registry.
///
/// Source: <https://github.com/WebBluetoothCG/registries/blob/master/gatt_blocklist.txt>
struct Blocklist: Sendable {
    struct Entry: Sendable {
        /// What the owner writes under `blocklistOverrides` to allow it.
        let name: String
        let uuid: BluetoothUUID
        var allowsReading = false
        let reason: String
    }

    private let services: [BluetoothUUID: Entry]
    private let characteristics: [BluetoothUUID: Entry]

    /// - Parameter overrides: names of entries that the owner of this machine allows.
    init(overrides: Set<String> = []) {
        func table(_ entries: [Entry]) -> [BluetoothUUID: Entry] {
            Dictionary(entries.filter { !overrides.contains($0.name) }.map { ($0.uuid, $0) }) { first, _ in first }
        }
        services = table(Self.serviceEntries)
        characteristics = table(Self.characteristicEntries)
    }

    /// Reads `blocklistOverrides` of the family's settings.
    init(settings: JSON) {
        self.init(overrides: Set((settings["blocklistOverrides"]?.arrayValue ?? []).compactMap(\.stringValue)))
    }

    func allows(service: BluetoothUUID) -> Bool { services[service] == nil }

    func check(service: BluetoothUUID) throws(HostError) {
        if let entry = services[service] { throw entry.error }
    }

    func check(characteristic: BluetoothUUID, writing: Bool) throws(HostError) {
        guard let entry = characteristics[characteristic], writing || !entry.allowsReading else { return }
        throw entry.error
    }

    private static let serviceEntries = [
        entry("human_interface_device", "1812", "keyboards and mice would tell what a person types"),
        entry("nordic_legacy_dfu", "00001530-1212-efde-1523-785feabcd123", firmware),
        entry("ti_oad", "f000ffc0-0451-4000-b000-000000000000", firmware),
        entry("cypress_bootloader", "00060000-0000-1000-8000-00805f9b34fb", firmware),
        entry("fido", "fffd", fido),
        entry("fido_client", "fff9", fido),
        entry("fido_pairingless", "fde2", fido),
    ].compactMap(\.self)

    private static let characteristicEntries = [
        entry("peripheral_privacy_flag", "2a02", "it would turn the device's privacy off", allowsReading: true),
        entry("reconnection_address", "2a03", "it would change how the device reconnects"),
        entry("serial_number_string", "2a25", "it identifies the device for ever"),
    ].compactMap(\.self)

    private static let firmware = "it replaces the device's firmware"
    private static let fido = "it would sign in as you elsewhere"

    private static func entry(_ name: String, _ uuid: String, _ reason: String, allowsReading: Bool = false) -> Entry? {
        BluetoothUUID(uuid).map { Entry(name: name, uuid: $0, allowsReading: allowsReading, reason: reason) }
    }
}

extension Blocklist.Entry {
    var error: HostError {
        HostError(
            "bluetooth.blocklisted", "\(name) (\(uuid.text)) is not for projects: \(reason).",
            details: [
                "name": .string(name), "uuid": .string(uuid.text), "reason": .string(reason),
                "fix": .string(
                    "Owner: \"settings\": {\"bluetooth\": {\"blocklistOverrides\": [\"\(name)\"]}} in policy.json."),
            ])
    }
}
