import ApsuleKit
import Testing

@testable import BluetoothPlugin

@Suite struct ScanResultsTests {
    private func device(
        _ number: Int, rssi: Int? = -50, name: String? = nil, services: [UInt16] = [], data: [UInt8]? = nil
    ) -> Device {
        var device = Device(path: "/org/bluez/hci0/dev_\(number)")
        device.rssi = rssi
        device.name = name
        device.services = services.map(BluetoothUUID.init(short:))
        if let data { device.manufacturerData = [.init(company: 1, bytes: data)] }
        return device
    }

    private func results(_ filter: ScanFilter = ScanFilter(), duplicates: Bool = false) -> ScanResults {
        ScanResults(filter: filter, allowsDuplicates: duplicates, goneAfter: .seconds(30))
    }

    private func filter(_ json: JSON) throws -> ScanFilter { try ScanFilter(Arguments(json)) }

    @Test func onlyWhatDiffersIsNews() {
        var results = results()
        #expect(results.heard(device(1, data: [1]), at: .seconds(1)) { _ in "a" }?.id == "a")
        #expect(results.heard(device(1, rssi: -70, data: [1]), at: .seconds(2)) { _ in "a" } == nil)
        #expect(results.heard(device(1, data: [2]), at: .seconds(3)) { _ in "a" } != nil)
        #expect(results.heard(device(1, name: "n", data: [2]), at: .seconds(4)) { _ in "a" } != nil)
        #expect(results.list.map(\.device) == [device(1, name: "n", data: [2])])
    }

    @Test func everyAdvertisementIsNewsWhereDuplicatesAre() {
        var results = results(duplicates: true)
        for second in 0..<3 {
            #expect(results.heard(device(1), at: .seconds(second)) { _ in "a" } != nil)
        }
    }

    @Test func whatIsOutOfScopeIsNeitherReportedNorListed() {
        var results = results()
        #expect(results.heard(device(1), at: .zero) { _ in nil } == nil)
        #expect(results.list.isEmpty)
    }

    @Test func filtersAreAppliedHereToo() throws {
        let named = device(1, name: "Heart 1", services: [0x180d, 0x180f])
        let other = device(2, rssi: -90, name: "Beacon", services: [0xfeaa])
        let nameless = device(3, rssi: nil)
        let expected: [(JSON, [Device])] = [
            (.object([]), [named, other, nameless]), (["services": ["180f", "181a"]], [named]),
            (["services": ["heart_rate"]], [named]), (["services": []], [named, other, nameless]),
            (["name": "Heart"], []), (["name": "Heart 1"], [named]), (["namePrefix": "Hea"], [named]),
            (["namePrefix": ""], [named, other]), (["minRssi": -90], [named, other]), (["minRssi": -89], [named]),
            (["minRssi": -89, "services": ["feaa"]], []),
        ]
        for (json, matching) in expected {
            let filter = try filter(json)
            #expect([named, other, nameless].filter(filter.matches) == matching, "\(json.text)")
        }
        #expect(throws: HostError.self) { try filter(["services": ["no service"]]) }
    }

    @Test func aSilentDeviceIsGoneOnceAndComesBack() {
        var results = results()
        _ = results.heard(device(1), at: .seconds(0)) { _ in "a" }
        _ = results.heard(device(2), at: .seconds(20)) { _ in "b" }
        #expect(results.silent(at: .seconds(29)).isEmpty)
        #expect(results.silent(at: .seconds(30)).map(\.id) == ["a"])
        #expect(results.silent(at: .seconds(31)).isEmpty)
        #expect(results.removed(device(1).path) == nil)
        #expect(results.removed(device(2).path)?.id == "b")
        #expect(results.heard(device(1), at: .seconds(40)) { _ in "a" }?.id == "a")
        #expect(results.list.count == 2)
    }

    @Test func aConnectedDeviceMayBeSilent() {
        var results = results()
        _ = results.heard(device(1), at: .zero) { _ in "a" }
        var connected = device(1, rssi: nil)
        connected.isConnected = true
        #expect(results.changed(connected)?.device.rssi == -50)
        #expect(results.silent(at: .seconds(100)).isEmpty)
    }

    @Test func whileTheRadioIsAwayNobodyIsSilent() {
        var results = results()
        _ = results.heard(device(1), at: .zero) { _ in "a" }
        results.resumed(at: .seconds(60))
        #expect(results.silent(at: .seconds(80)).isEmpty)
        #expect(results.silent(at: .seconds(90)).count == 1)
    }

    @Test func aChangeWithoutASignalIsNoDiscovery() {
        var results = results()
        #expect(results.changed(device(1)) == nil)
        #expect(results.list.isEmpty)
    }

    @Test func theStrongestComesFirst() {
        var results = results()
        for (number, rssi) in [(1, -80), (2, -40), (3, -80), (4, -60)] {
            _ = results.heard(device(number, rssi: rssi), at: .zero) { _ in "\(number)" }
        }
        #expect(results.list.map(\.id) == ["2", "4", "1", "3"])
    }

    @Test func aScanOfDaysStaysSmall() {
        var results = results()
        for number in 0..<20_000 {
            _ = results.heard(device(number), at: .milliseconds(number)) { _ in "\(number)" }
        }
        #expect(results.list.count <= ScanResults.limit)
        #expect(results.list.contains { $0.id == "19999" } && !results.list.contains { $0.id == "0" })
    }
}
