import ApsuleDBus
import ApsuleKit
import TestBus
import TestHost
import Testing

/// What scans of other libraries have stumbled over.
@Suite struct ScanningTests {
    let place: Playground
    var bluez: FakeBluez { place.bluez }
    var host: TestHost { place.host }
    init() async throws { place = try await Playground() }

    /// A filter is always set, duplicates are wanted, and no device must be discoverable in the sense of the desktop.
    @Test func theFilterIsSetFirst() async throws {
        let options: JSON = ["durationMs": 100, "services": ["heart_rate"], "minRssi": -70]
        _ = try await host.stream("scan", options).end()
        await eventually { bluez.methods.count >= 3 }
        #expect(bluez.methods == ["SetDiscoveryFilter", "StartDiscovery", "StopDiscovery"])
        let filter = try #require(bluez.asked("SetDiscoveryFilter").first?.arguments.first)
        #expect(filter["Transport"] == .string("le") && filter["DuplicateData"] == .bool(true))
        #expect(filter["RSSI"] == .int16(-70))
        #expect(filter["UUIDs"]?.stringsValue == ["0000180d-0000-1000-8000-00805f9b34fb"])
    }

    /// The session is gone already, or BlueZ is busy with it: what was found stays.
    @Test(arguments: [
        ("org.bluez.Error.InProgress", "Operation already in progress"),
        ("org.bluez.Error.Failed", "No discovery started"), ("org.bluez.Error.NotReady", "Resource Not Ready"),
    ])
    func whateverTheStopSaysTheListIsGiven(_ name: String, _ message: String) async throws {
        try await bluez.addDevice(1)
        bluez.answer("StopDiscovery") { $0.fail(name, message) }
        for _ in 1...2 {
            #expect(try await host.stream("scan", ["durationMs": 300]).end().json.arrayValue?.count == 1)
        }
    }

    /// A session of this connection that an earlier stop has left behind.
    @Test func aSessionThatIsThereAlreadyIsReplaced() async throws {
        let isFirst = Received<Bool>()
        bluez.answer("StartDiscovery") { call in
            if isFirst.all.isEmpty {
                isFirst.append(true)
                return call.fail("org.bluez.Error.InProgress", "Operation already in progress")
            }
            call.reply()
        }
        _ = try await host.stream("scan", ["durationMs": 100]).end()
        await eventually { bluez.methods.count >= 5 }
        #expect(
            bluez.methods == [
                "SetDiscoveryFilter", "StartDiscovery", "StopDiscovery", "StartDiscovery", "StopDiscovery",
            ])
    }

    /// BlueZ never lets go: that is told, not tried for ever.
    @Test func aSessionThatCannotBeReplacedIsTold() async throws {
        bluez.answer("StartDiscovery") { $0.fail("org.bluez.Error.InProgress", "Operation already in progress") }
        let error = await failure { try await host.stream("scan", ["durationMs": 100]).answer() }
        #expect(error?.code == "bluetooth.in_progress" && bluez.asked("StartDiscovery").count == 2)
    }

    /// BlueZ keeps what was connected once; without a signal it is not here.
    @Test func whatIsNotHeardIsNotFound() async throws {
        let path = try await bluez.addDevice(1)
        bluez.remove(path)
        try await bluez.addDevice(2, ["Paired": .bool(true)])
        let known = try await bluez.addDevice(3, ["Paired": .bool(true)])
        bluez.forgetSignal(known)
        let scan = host.stream("scan", ["durationMs": 0])
        _ = try await scan.answer()
        #expect(await eventually { scan.events.contains { $0.payload.json["name"] == "Device 2" } })
        scan.cancel()
        #expect(try await scan.end().json.arrayValue?.compactMap { $0["name"]?.stringValue } == ["Device 2"])
    }

    /// Filters of all clients are merged: what comes for another program is filtered out here.
    @Test func whatOthersScanForIsLeftOut() async throws {
        try await bluez.addDevice(1, ["UUIDs": .strings(["0000feaa-0000-1000-8000-00805f9b34fb"])])
        try await bluez.addDevice(2, ["UUIDs": .strings(["0000180d-0000-1000-8000-00805f9b34fb"])])
        let list = try await host.stream("scan", ["durationMs": 300, "services": ["180d"]]).end().json.arrayValue
        #expect(list?.compactMap { $0["name"]?.stringValue } == ["Device 2"])
    }
}
