import ApsuleDBus
import ApsuleKit
import TestBus
import TestHost
import Testing

@Suite struct ConnectingTests {
    let place: Playground
    var bluez: FakeBluez { place.bluez }
    var host: TestHost { place.host }
    init() async throws {
        place = try await Playground()
        try await bluez.addDevice(1)
    }

    /// Everything that it was asked from a moment on.
    private func methods(from count: Int) -> [String] { Array(bluez.methods.dropFirst(count)) }

    @Test func aScanPausesWhileADeviceIsConnected() async throws {
        let id = try await place.find()
        let scan = host.stream("scan", ["durationMs": 0, "goneAfterMs": 500])
        _ = try await scan.answer()
        let count = bluez.methods.count
        let held = Held("Connect", bluez)
        let attempt = host.start("connect", ["deviceId": id])
        let connect = try await held.first()
        #expect(methods(from: count) == ["StopDiscovery", "Connect"])
        // Longer than a device may be silent: nothing could be heard.
        try await Task.sleep(for: .seconds(1))
        connect.reply()
        bluez.set(connect.path, FakeBluez.device, ["Connected": .bool(true), "ServicesResolved": .bool(true)])
        _ = try await attempt.answer()
        await eventually { bluez.methods.last == "StartDiscovery" }
        #expect(methods(from: count) == ["StopDiscovery", "Connect", "SetDiscoveryFilter", "StartDiscovery"])
        #expect(Set(scan.events.map(\.name)).isSubset(of: ["device"]))
        // The scan still hears what comes.
        try await bluez.addDevice(2)
        #expect(await eventually { scan.events.contains { $0.payload.json["name"] == "Device 2" } })
        scan.cancel()
        #expect(try await scan.end().json.arrayValue?.count == 2)
        #expect(host.violations.isEmpty)
    }

    @Test func aPauseEndsByItselfWhereTheDeviceDoesNotAnswer() async throws {
        let id = try await place.find()
        let scan = host.stream("scan", ["durationMs": 0])
        _ = try await scan.answer()
        let count = bluez.methods.count
        let held = Held("Connect", bluez)
        let attempt = host.start("connect", ["deviceId": id])
        _ = try await held.first()
        let start = ContinuousClock.now
        await eventually(.seconds(20)) { methods(from: count).contains("StartDiscovery") }
        #expect(methods(from: count).contains("StartDiscovery"))
        #expect(ContinuousClock.now - start > .seconds(3))
        attempt.cancel()
        #expect(await failure { try await attempt.answer() }?.code == "host.cancelled")
        scan.cancel()
        _ = try await scan.end()
    }

    @Test func anAttemptEndsWithItsTimeAndIsGivenUp() async throws {
        let id = try await place.find()
        let held = Held("Connect", bluez)
        let start = ContinuousClock.now
        let error = await failure { try await host.call("connect", ["deviceId": id, "timeoutMs": 1000]) }
        #expect(error?.code == "bluetooth.connect_failed")
        #expect(error?.details["reason"]?.stringValue?.contains("1000 ms") == true && error?.details["fix"] != nil)
        #expect(ContinuousClock.now - start < .seconds(10))
        await eventually { bluez.methods.last == "Disconnect" }
        #expect(bluez.methods.last == "Disconnect" && held.count == 1)
    }

    /// BlueZ takes a moment to give an attempt up, and answers it late.
    @Test func theNextAttemptWaitsUntilTheLastIsGivenUp() async throws {
        let id = try await place.find()
        let held = Held("Connect", bluez)
        let attempt = host.start("connect", ["deviceId": id])
        let first = try await held.first()
        attempt.cancel()
        #expect(await failure { try await attempt.answer() }?.code == "host.cancelled")
        let cancelled = ContinuousClock.now
        let times = Received<ContinuousClock.Instant>()
        bluez.answer("Connect") { [weak bluez] call in
            times.append(.now)
            call.reply()
            bluez?.set(call.path, FakeBluez.device, ["Connected": .bool(true), "ServicesResolved": .bool(true)])
        }
        let next = host.start("connect", ["deviceId": id])
        first.fail("org.bluez.Error.Failed", "br-connection-canceled")
        #expect(try await next.answer().json["id"] == id)
        let time = try #require(times.all.first)
        #expect(time - cancelled > .milliseconds(500))
        #expect(host.violations.isEmpty)
    }

    @Test func anAttemptEndsAtOnceWhenTheDaemonForgetsTheDevice() async throws {
        let id = try await place.find()
        let held = Held("Connect", bluez)
        let attempt = host.start("connect", ["deviceId": id])
        let path = try await held.first().path
        try await Task.sleep(for: .milliseconds(1100))
        bluez.remove(path)
        let error = await failure { try await attempt.answer() }
        #expect(error?.code == "bluetooth.connect_failed" && error?.details["reason"] != nil)
    }

    /// What BlueZ has not heard for 30 s it may forget in that moment.
    @Test func aDeviceThatIsForgottenJustNowIsScannedFor() async throws {
        let id = try await place.find()
        let held = Held("Connect", bluez)
        let attempt = host.start("connect", ["deviceId": id])
        bluez.remove(try await held.first().path)
        #expect(await eventually { bluez.methods.last == "StartDiscovery" })
        bluez.answer("Connect") { [weak bluez] call in
            call.reply()
            bluez?.set(call.path, FakeBluez.device, ["Connected": .bool(true), "ServicesResolved": .bool(true)])
        }
        try await bluez.addDevice(1)
        #expect(try await attempt.answer().json["id"] == id)
    }

    @Test func anAttemptEndsAtOnceWhenTheRadioGoes() async throws {
        let id = try await place.find()
        let held = Held("Connect", bluez)
        let attempt = host.start("connect", ["deviceId": id])
        _ = try await held.first()
        bluez.set("/org/bluez/hci0", FakeBluez.adapter, ["Powered": .bool(false)])
        #expect(await failure { try await attempt.answer() }?.code == "bluetooth.adapter_off")
        bluez.set("/org/bluez/hci0", FakeBluez.adapter, ["Powered": .bool(true)])
        #expect(await place.tells(nil))
        let next = host.start("connect", ["deviceId": id])
        await eventually { held.count == 2 }
        bluez.quit()
        #expect(await failure { try await next.answer() }?.code == "bluetooth.daemon_missing")
    }

    @Test func aDeviceThatIsNotThereIsNotFoundInTime() async throws {
        _ = try await place.find()
        let start = ContinuousClock.now
        let error = await failure { try await host.call("connect", ["deviceId": "nobody", "timeoutMs": 1500]) }
        #expect(error?.code == "bluetooth.device_not_found" && ContinuousClock.now - start < .seconds(10))
        #expect(await eventually { bluez.methods.last == "StopDiscovery" })
    }

    @Test func aLinkWithoutServicesIsCutAgain() async throws {
        let id = try await place.find()
        bluez.answer("Connect") { [weak bluez] call in
            call.reply()
            bluez?.set(call.path, FakeBluez.device, ["Connected": .bool(true)])
        }
        let error = await failure { try await host.call("connect", ["deviceId": id, "timeoutMs": 1500]) }
        #expect(error?.code == "bluetooth.services_unresolved")
        await eventually { bluez.methods.last == "Disconnect" }
        #expect(bluez.methods.last == "Disconnect")
    }

    /// An error of the first moment, as when two links begin at once, is tried once more; later ones are told.
    @Test func whatFailsAtOnceIsTriedOnceMore() async throws {
        let id = try await place.find()
        bluez.answer("Connect") { $0.fail("org.bluez.Error.Failed", "le-connection-abort-by-local") }
        let error = await failure { try await host.call("connect", ["deviceId": id]) }
        #expect(error?.code == "bluetooth.connect_failed" && bluez.asked("Connect").count == 2)
        #expect(error?.details["reason"]?.stringValue?.contains("le-connection-abort-by-local") == true)
    }

    @Test func whatAnotherProgramConnectsIsUsed() async throws {
        let id = try await place.find()
        bluez.answer("Connect") { [weak bluez] call in
            call.fail("org.bluez.Error.InProgress", "Operation already in progress")
            bluez?.set(call.path, FakeBluez.device, ["Connected": .bool(true), "ServicesResolved": .bool(true)])
        }
        #expect(try await host.call("connect", ["deviceId": id])["connected"] == true)
    }
}
