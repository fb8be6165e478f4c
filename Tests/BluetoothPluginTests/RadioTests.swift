import ApsuleDBus
import ApsuleKit
import Foundation
import TestBus
import TestHost
import Testing

/// Radios that the rig does not have: several adapters, switches, and a daemon that talks nonsense.
@Suite struct RadioTests {
    private static let hci0 = "/org/bluez/hci0"

    @Test(arguments: [("1", "0", "rfkill unblock"), ("0", "1", "hardware switch"), ("1", "1", "hardware switch")])
    func aBlockSaysWhichSwitch(_ soft: String, _ hard: String, _ words: String) async throws {
        let folder = try Playground.rfkill(soft: soft, hard: hard)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let place = try await Playground(rfkill: folder)
        place.bluez.set(Self.hci0, FakeBluez.adapter, ["Powered": .bool(false)])
        #expect(await place.tells("bluetooth.adapter_blocked"))
        let answer = try await place.host.call("authorization")
        let told = [answer["reason"], answer["fix"]].compactMap { $0?.stringValue }.joined(separator: " ")
        #expect(told.contains(words))
    }

    @Test func thePoweredAdapterIsTaken() async throws {
        let place = try await Playground(adapters: ["hci0", "hci1", "hci2"])
        place.bluez.set(Self.hci0, FakeBluez.adapter, ["Powered": .bool(false)])
        _ = try await place.host.stream("scan", ["durationMs": 100]).end()
        #expect(place.bluez.asked("StartDiscovery").map(\.path) == ["/org/bluez/hci1"])
        #expect(try await place.host.call("authorization")["adapter"]?["name"] == "hci1")
    }

    @Test func theAdapterOfTheSettingsIsTaken() async throws {
        let place = try await Playground(adapters: ["hci0", "hci1"], settings: ["adapter": "hci1"])
        _ = try await place.host.stream("scan", ["durationMs": 100]).end()
        #expect(place.bluez.asked("StartDiscovery").map(\.path) == ["/org/bluez/hci1"])
        // The other one is no substitute: its owner wants this one.
        place.bluez.set("/org/bluez/hci1", FakeBluez.adapter, ["Powered": .bool(false)])
        #expect(await place.tells("bluetooth.adapter_off"))
        place.bluez.remove("/org/bluez/hci1")
        #expect(await place.tells("bluetooth.adapter_missing"))
        let answer = try await place.host.call("authorization")
        #expect(answer["reason"]?.stringValue?.contains("hci1") == true)
    }

    @Test func aScanMovesToTheOtherAdapter() async throws {
        let place = try await Playground(adapters: ["hci0", "hci1"])
        let scan = place.host.stream("scan", ["durationMs": 0])
        _ = try await scan.answer()
        place.bluez.set(Self.hci0, FakeBluez.adapter, ["Powered": .bool(false)])
        #expect(await eventually { scan.events.map(\.name) == ["lost", "resubscribed"] })
        #expect(place.bluez.asked("StartDiscovery").map(\.path) == [Self.hci0, "/org/bluez/hci1"])
        scan.cancel()
        _ = try await scan.end()
    }

    /// The daemon's answer to the start never comes; the radio is gone before.
    @Test(arguments: ["SetDiscoveryFilter", "StartDiscovery"], ["off", "removed", "gone"])
    func aRadioThatGoesWhileAScanStartsIsNoticedAtOnce(_ method: String, _ loss: String) async throws {
        let place = try await Playground()
        let held = Held(method, place.bluez)
        let scan = place.host.stream("scan", ["durationMs": 0])
        _ = try await held.first()
        let start = ContinuousClock.now
        switch loss {
        case "off": place.bluez.set(Self.hci0, FakeBluez.adapter, ["Powered": .bool(false)])
        case "removed": place.bluez.remove(Self.hci0)
        default: place.bluez.quit()
        }
        let codes = ["off": "adapter_off", "removed": "adapter_missing", "gone": "daemon_missing"]
        #expect(await failure { try await scan.answer() }?.code == "bluetooth.\(codes[loss] ?? "")")
        #expect(ContinuousClock.now - start < .seconds(5), "not by the timeout of the call")
    }

    /// The adapter is off for a moment only: the scan starts again by itself.
    @Test func aMomentWithoutRadioDoesNotEndAStart() async throws {
        let place = try await Playground()
        let held = Held("StartDiscovery", place.bluez)
        let scan = place.host.stream("scan", ["durationMs": 0])
        let first = try await held.first()
        place.bluez.answer("StartDiscovery") { $0.reply() }
        place.bluez.set(Self.hci0, FakeBluez.adapter, ["Powered": .bool(false)])
        place.bluez.set(Self.hci0, FakeBluez.adapter, ["Powered": .bool(true)])
        let outcome = await failure { try await scan.answer() }
        #expect(outcome == nil || outcome?.code == "bluetooth.adapter_off")
        first.reply()
        // A start that ended may have seen "off" and not yet "on".
        var hasScanned = false
        for _ in 0..<250 where !hasScanned {
            if (try? await place.host.stream("scan", ["durationMs": 100]).end()) != nil { hasScanned = true }
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(hasScanned)
        #expect(place.host.violations.isEmpty)
    }

    @Test func aDaemonThatComesBackIsUsed() async throws {
        let place = try await Playground()
        let scan = place.host.stream("scan", ["durationMs": 0])
        _ = try await scan.answer()
        place.bluez.quit()
        #expect(await eventually { scan.events.last?.name == "lost" })
        #expect(scan.events.last?.payload.json["code"] == "bluetooth.daemon_missing")
        let next = try await FakeBluez(on: place.bluez.bus)
        #expect(await eventually(.seconds(20)) { scan.events.last?.name == "resubscribed" })
        try await next.addDevice(1)
        #expect(await eventually { scan.events.last?.payload.json["name"] == "Device 1" })
        scan.cancel()
        _ = try await scan.end()
    }

    @Test func aBusThatGoesAwayIsTold() async throws {
        let place = try await Playground()
        let scan = place.host.stream("scan", ["durationMs": 0])
        _ = try await scan.answer()
        place.bluez.bus.kill()
        #expect(await eventually { scan.events.last?.name == "lost" })
        #expect(await place.tells("bluetooth.daemon_missing"))
        scan.cancel()
        _ = try await scan.end()
    }

    /// Every property with values of other types than BlueZ's: nothing is believed, nothing breaks.
    @Test func propertiesOfOtherTypesAreNotBelieved() async throws {
        let place = try await Playground()
        let names = [
            "Address", "AddressType", "Name", "RSSI", "TxPower", "UUIDs", "ManufacturerData", "ServiceData",
            "Appearance", "Paired", "Connected", "ServicesResolved", "Adapter",
        ]
        let nonsense: [DBusValue] = [
            .string("\u{202e}"), .int64(.min), .uint64(.max), .double(.nan), .bool(true), .bytes([0, 255]),
            .strings(["x", ""]), .array([], element: "i"), .variant(.variant(.string("deep"))),
            .structure([.string("a"), .byte(1)]),
            .dictionary([.init(.uint16(1), .variant(.bool(true)))], element: "{qv}"),
        ]
        let scan = place.host.stream("scan", ["durationMs": 0, "allowDuplicates": true])
        _ = try await scan.answer()
        for (number, value) in nonsense.enumerated() {
            let path = try await place.bluez.addDevice(
                100 + number, Dictionary(uniqueKeysWithValues: names.map { ($0, value) }))
            for name in names { place.bluez.set(path, FakeBluez.device, [name: value]) }
        }
        place.bluez.tell(Self.hci0, FakeBluez.adapter, ["Alias": .int32(1), "Powered": .string("no")])
        let path = try await place.bluez.addDevice(1)
        for value in nonsense {
            place.bluez.tell(path, FakeBluez.device, ["Name": .string("Device 1"), "RSSI": value])
        }
        place.bluez.tell(path, FakeBluez.device, ["RSSI": .int16(-61)])
        #expect(await eventually { scan.events.contains { $0.payload.json["rssi"] == -61 } })
        scan.cancel()
        // The list is as the manifest declares it, which the host checks.
        let list = try #require(try await scan.end().json.arrayValue)
        #expect(list.first { $0["name"] == "Device 1" }?["rssi"] == -61)
        _ = try await scan.events(count: 1)
        #expect(place.host.violations.isEmpty)
    }

    @Test func aThousandDevicesAreFound() async throws {
        let place = try await Playground()
        let scan = place.host.stream("scan", ["durationMs": 0])
        _ = try await scan.answer()
        for number in 1...1000 { try await place.bluez.addDevice(number) }
        #expect(await eventually(.seconds(30)) { scan.events.count >= 1000 })
        scan.cancel()
        let list = try #require(try await scan.end().json.arrayValue)
        #expect(Set(list.compactMap { $0["id"]?.stringValue }).count == 1000)
        // Those that are there already are found by the next scan as well.
        let again = try await place.host.stream("scan", ["durationMs": 500]).end().json.arrayValue
        #expect(again?.count == 1000)
    }

    @Test func notificationsThatAnotherProgramHasTakenAreTold() async throws {
        let place = try await Playground()
        let device = try await place.bluez.addDevice(1)
        let path = try await place.bluez.addCharacteristic(device, "2a37", flags: ["read", "notify"])
        let id = try await place.connect()
        place.bluez.answer("StartNotify") { $0.fail("org.bluez.Error.NotPermitted", "Notify acquired") }
        let subscribe: JSON = ["deviceId": id, "characteristicId": "2a37"]
        #expect(
            await failure { try await place.host.stream("subscribe", subscribe).answer() }?.code
                == "bluetooth.notify_in_use")
        // Values that the other program's session brings are not ours.
        place.bluez.tell(path, FakeBluez.characteristic, ["Value": .bytes([1])])
        place.bluez.answer("StartNotify") { $0.reply() }
        let stream = place.host.stream("subscribe", subscribe)
        _ = try await stream.answer()
        place.bluez.tell(path, FakeBluez.characteristic, ["Value": .bytes([2])])
        #expect(await eventually { stream.events.count == 1 })
        #expect(stream.events.first?.payload.json == ["value": "Ag=="])
        stream.cancel()
        _ = await failure { try await stream.end() }
        #expect(await eventually { place.bluez.methods.last == "StopNotify" })
    }
}
