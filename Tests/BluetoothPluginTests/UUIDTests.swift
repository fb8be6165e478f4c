import ApsuleKit
import Testing

@testable import BluetoothPlugin

@Suite struct UUIDTests {
    @Test(arguments: [
        "180d", "180D", "0x180d", "0X180D", "0000180d", "0000180D-0000-1000-8000-00805F9B34FB",
    ])
    func everySpellingIsTheSame(_ text: String) {
        let uuid = BluetoothUUID(text)
        #expect(uuid?.full == "0000180d-0000-1000-8000-00805f9b34fb")
        #expect(uuid?.text == "180d")
        #expect(uuid?.assigned == 0x180d)
        #expect(uuid == BluetoothUUID(short: 0x180d))
    }

    @Test(arguments: [
        "", "18", "180", "180dd", "180g", "0x", "+80d", "0000180d-0000-1000-8000-00805f9b34f",
        "0000180d00000-1000-8000-00805f9b34fb", "0000180d-0000-1000-8000-00805f9b34fg", "١٨٠د",
    ])
    func otherTextIsNone(_ text: String) { #expect(BluetoothUUID(text) == nil) }

    @Test func longUUIDsStayLong() throws {
        let uuid = try #require(BluetoothUUID("6B1F0002-5A3C-4C2B-9E8D-0A1B2C3D4E5F"))
        #expect(uuid.text == "6b1f0002-5a3c-4c2b-9e8d-0a1b2c3d4e5f" && uuid.assigned == nil)
        #expect(BluetoothUUID("12345678")?.text == "12345678")
    }

    @Test(arguments: [
        ("heart_rate", UInt16(0x180d)), ("Heart Rate", 0x180d), ("battery_service", 0x180f), ("battery", 0x180f),
        ("Human Interface Device", 0x1812),
    ])
    func servicesHaveNames(_ name: String, _ short: UInt16) {
        #expect(AssignedNumbers.service(named: name) == BluetoothUUID(short: short))
    }

    @Test func characteristicsHaveNames() {
        #expect(AssignedNumbers.characteristic(named: "battery_level") == BluetoothUUID(short: 0x2a19))
        #expect(AssignedNumbers.characteristic(named: "manufacturer_name_string") == BluetoothUUID(short: 0x2a29))
        #expect(AssignedNumbers.characteristicName(BluetoothUUID(short: 0x2a37)) == "Heart Rate Measurement")
        #expect(AssignedNumbers.service(named: "no such thing") == nil && AssignedNumbers.service(named: "") == nil)
        #expect(AssignedNumbers.serviceName(BluetoothUUID(short: 0xffff)) == nil)
    }

    @Test func companiesHaveNames() {
        #expect(CompanyNames.name(0x004c) == "Apple, Inc.")
        #expect(CompanyNames.name(1521)?.isEmpty == false)
        #expect(CompanyNames.name(0xffff) == nil && CompanyNames.name(0xfff0) == nil)
    }

    @Test func attributesAreNamedInThreeWays() throws {
        let uuid = try #require(BluetoothUUID("2a19"))
        for text in ["2A19", "battery_level", "#000c"] {
            let name = try AttributeName(Arguments(.string(text)), named: AssignedNumbers.characteristic(named:))
            #expect(name.matches(uuid, handle: "000c"))
            #expect(!name.matches(BluetoothUUID(short: 1), handle: "000d"))
        }
        #expect(throws: HostError.self) {
            _ = try AttributeName(Arguments("nothing"), named: AssignedNumbers.characteristic(named:))
        }
    }
}
