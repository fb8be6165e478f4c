import ApsuleDBus
import ApsuleKit
import Testing

@testable import BluetoothPlugin

/// Signals as BlueZ sends them.
enum Signals {
    static let adapter = "/org/bluez/hci0"
    static let device = "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5"

    static func added(_ path: String, _ interface: String, _ properties: KeyValuePairs<String, DBusValue>) -> DBusSignal
    {
        let interfaces = DBusValue.dictionary(
            [.init(.string(interface), .dictionary(properties))], element: "{sa{sv}}")
        return signal("/", "InterfacesAdded", [.path(path), interfaces])
    }

    static func removed(_ path: String, _ interfaces: [String]) -> DBusSignal {
        signal("/", "InterfacesRemoved", [.path(path), .strings(interfaces)])
    }

    static func changed(
        _ path: String, _ interface: String, _ properties: KeyValuePairs<String, DBusValue>, invalidated: [String] = []
    ) -> DBusSignal {
        signal(
            path, "PropertiesChanged", [.string(interface), .dictionary(properties), .strings(invalidated)])
    }

    private static func signal(_ path: String, _ member: String, _ arguments: [DBusValue]) -> DBusSignal {
        DBusSignal(sender: ":1.1", path: path, interface: "", member: member, arguments: arguments)
    }

    static func manufacturer(_ data: KeyValuePairs<UInt16, [UInt8]>) -> DBusValue {
        .dictionary(data.map { .init(.uint16($0.key), .variant(.bytes($0.value))) }, element: "{qv}")
    }
}

@Suite struct ObjectTreeTests {
    private func heart() -> ObjectTree {
        var tree = ObjectTree()
        _ = tree.apply(
            Signals.added(
                Signals.device, "org.bluez.Device1",
                [
                    "Address": .string("F0:F1:F2:F3:F4:F5"), "AddressType": .string("random"),
                    "Alias": .string("Heart"),
                    "Name": .string("Heart"), "RSSI": .int16(-50), "TxPower": .int16(4), "Appearance": .uint16(833),
                    "UUIDs": .strings(["0000180d-0000-1000-8000-00805f9b34fb", "not a uuid"]), "Paired": .bool(false),
                    "ManufacturerData": Signals.manufacturer([76: [2, 0x15], 6: [1]]),
                    "ServiceData": .dictionary(["0000feaa-0000-1000-8000-00805f9b34fb": .bytes([0x10])]),
                ]))
        return tree
    }

    @Test func anAdvertisementIsDecoded() throws {
        let device = try #require(heart().devices[Signals.device])
        #expect(
            device.json(id: "x") == [
                "id": "x", "name": "Heart", "rssi": -50, "txPower": 4, "services": ["180d"],
                "manufacturerData": [
                    ["company": 6, "data": "AQ==", "companyName": "Microsoft"],
                    ["company": 76, "data": "AhU=", "companyName": "Apple, Inc."],
                ],
                "serviceData": [["service": "feaa", "data": "EA=="]], "appearance": 833, "paired": false,
                "connected": false,
            ])
        #expect(device.adapterPath == Signals.adapter)
        let hex = device.json(id: "x", .hex)["manufacturerData"]?[1]?["data"]
        #expect(hex == "0215")
    }

    /// BlueZ makes an alias of the address where a device has no name.
    @Test func theAddressIsNotGivenAway() throws {
        var tree = ObjectTree()
        _ = tree.apply(
            Signals.added(
                Signals.device, "org.bluez.Device1",
                ["Address": .string("F0:F1:F2:F3:F4:F5"), "Alias": .string("F0-F1-F2-F3-F4-F5")]))
        let text = try #require(tree.devices[Signals.device]).json(id: "x").text
        #expect(!text.contains("F0") && !text.contains("name"))
    }

    @Test func onlyAnAdvertisementIsASignOfLife() throws {
        var tree = heart()
        func isHeard(_ signal: DBusSignal) -> Bool? {
            guard case .device(_, let isHeard)? = tree.apply(signal).first else { return nil }
            return isHeard
        }
        let interface = "org.bluez.Device1"
        #expect(isHeard(Signals.changed(Signals.device, interface, ["RSSI": .int16(-60)])) == true)
        #expect(
            isHeard(Signals.changed(Signals.device, interface, ["ManufacturerData": Signals.manufacturer([1: []])]))
                == true)
        #expect(isHeard(Signals.changed(Signals.device, interface, ["Connected": .bool(true)])) == false)
        #expect(isHeard(Signals.changed(Signals.device, interface, [:], invalidated: ["RSSI"])) == false)
        #expect(tree.devices[Signals.device]?.rssi == nil)
        #expect(isHeard(Signals.added(Signals.device, interface, ["Address": .string("x")])) == false)
        #expect(isHeard(Signals.changed("/org/bluez/hci0/dev_unknown", interface, ["RSSI": .int16(1)])) == nil)
    }

    @Test func objectsComeAndGo() {
        var tree = heart()
        _ = tree.apply(Signals.added(Signals.adapter, "org.bluez.Adapter1", ["Powered": .bool(true)]))
        let service = Signals.device + "/service000a"
        let characteristic = service + "/char000b"
        _ = tree.apply(
            Signals.added(
                service, "org.bluez.GattService1",
                ["UUID": .string("0000180f-0000-1000-8000-00805f9b34fb"), "Device": .path(Signals.device)]))
        _ = tree.apply(
            Signals.added(
                characteristic, "org.bluez.GattCharacteristic1",
                [
                    "UUID": .string("00002a19-0000-1000-8000-00805f9b34fb"), "Service": .path(service),
                    "Flags": .strings(["read", "notify"]), "MTU": .uint16(517),
                ]))
        #expect(
            tree.services(ofDevice: Signals.device).map(\.json) == [
                ["id": "#000a", "uuid": "180f", "name": "Battery", "primary": true]
            ])
        #expect(
            tree.characteristics(ofService: service).map(\.json) == [
                [
                    "id": "#000b", "uuid": "2a19", "name": "Battery Level", "properties": ["read", "notify"],
                    "notifying": false, "mtu": 517,
                ]
            ])
        let value = Signals.changed(characteristic, "org.bluez.GattCharacteristic1", ["Value": .bytes([87])])
        guard case .value(characteristic: characteristic, [87])? = tree.apply(value).first else {
            Issue.record("the value did not arrive")
            return
        }
        _ = tree.apply(Signals.removed(characteristic, ["org.bluez.GattCharacteristic1"]))
        _ = tree.apply(Signals.removed(service, ["org.bluez.GattService1"]))
        guard
            case .deviceRemoved(let device)? = tree.apply(Signals.removed(Signals.device, ["org.bluez.Device1"])).first
        else {
            Issue.record("the device did not go")
            return
        }
        #expect(device.name == "Heart")
        #expect(tree.devices.isEmpty && tree.services.isEmpty && tree.characteristics.isEmpty)
    }

    @Test func signalsOfAnotherFormChangeNothing() {
        var tree = heart()
        let before = tree.devices
        for arguments: [DBusValue] in [[], [.int32(1)], [.path("/x"), .int32(1)], [.string("org.bluez.Device1")]] {
            for member in ["InterfacesAdded", "InterfacesRemoved", "PropertiesChanged", "Other"] {
                let signal = DBusSignal(
                    sender: "", path: Signals.device, interface: "", member: member, arguments: arguments)
                #expect(tree.apply(signal).isEmpty)
            }
        }
        _ = tree.apply(
            Signals.changed(
                Signals.device, "org.bluez.Device1",
                ["Name": .string("Heart"), "Connected": .string("yes"), "Address": .int32(1), "Paired": .int32(1)]))
        #expect(tree.devices == before)
    }

    @Test func theAdapterIsChosen() {
        var tree = ObjectTree()
        for (name, isPowered) in [("hci0", false), ("hci1", true), ("hci2", true)] {
            _ = tree.apply(Signals.added("/org/bluez/\(name)", "org.bluez.Adapter1", ["Powered": .bool(isPowered)]))
        }
        #expect(tree.adapter(preferred: nil)?.name == "hci1")
        #expect(tree.adapter(preferred: "hci0")?.name == "hci0")
        #expect(tree.adapter(preferred: "hci9") == nil)
        #expect(ObjectTree().adapter(preferred: nil) == nil)
    }

    @Test func theDaemonsVersionIsRead() {
        var adapter = Adapter(path: "/org/bluez/hci0")
        #expect(adapter.bluezVersion == nil)
        adapter.modalias = "usb:v1D6Bp0246d0542"
        #expect(adapter.bluezVersion == "5.66")
        adapter.modalias = "usb:v0001p0002d0003"
        #expect(adapter.bluezVersion == nil)
    }
}
