import ApsuleKit
import Testing

@testable import BluetoothPlugin

@Suite struct BlocklistTests {
    /// The published registry, one line an entry.
    static let services = [
        "00001812-0000-1000-8000-00805f9b34fb", "00001530-1212-efde-1523-785feabcd123",
        "f000ffc0-0451-4000-b000-000000000000", "00060000-0000-1000-8000-00805f9b34fb",
        "0000fffd-0000-1000-8000-00805f9b34fb", "0000fff9-0000-1000-8000-00805f9b34fb",
        "0000fde2-0000-1000-8000-00805f9b34fb",
    ]

    @Test(arguments: services)
    func servicesAreBlocked(_ text: String) throws {
        let uuid = try #require(BluetoothUUID(text))
        #expect(!Blocklist().allows(service: uuid))
        let error = #expect(throws: HostError.self) { try Blocklist().check(service: uuid) }
        #expect(error?.code == "bluetooth.blocklisted")
        #expect(error?.details["fix"]?.stringValue?.contains("blocklistOverrides") == true)
    }

    @Test func characteristicsAreBlockedForReadingOrWriting() throws {
        let list = Blocklist()
        #expect(throws: HostError.self) { try list.check(characteristic: BluetoothUUID(short: 0x2a25), writing: false) }
        #expect(throws: HostError.self) { try list.check(characteristic: BluetoothUUID(short: 0x2a03), writing: false) }
        try list.check(characteristic: BluetoothUUID(short: 0x2a02), writing: false)
        #expect(throws: HostError.self) { try list.check(characteristic: BluetoothUUID(short: 0x2a02), writing: true) }
        try list.check(characteristic: BluetoothUUID(short: 0x2a19), writing: true)
    }

    @Test func theOwnerAllowsByName() throws {
        let hid = BluetoothUUID(short: 0x1812)
        let list = Blocklist(settings: ["blocklistOverrides": ["human_interface_device", "no_such_entry", 1]])
        #expect(list.allows(service: hid))
        #expect(!list.allows(service: BluetoothUUID(short: 0xfffd)))
        #expect(!Blocklist(settings: ["blocklistOverrides": true]).allows(service: hid))
    }
}
