import ApsuleKit
import Foundation
import TestBus
import TestHost
import Testing

extension RigTests {
    @Suite struct Scanning {
        let bluetooth: Bluetooth
        init() throws { bluetooth = try Bluetooth() }

        @Test func everyPeripheralIsFound() async throws {
            let list = try await bluetooth.scan(until: [Rig.heart, Rig.beacon, Rig.sensor])
            #expect(list.compactMap { $0["name"]?.stringValue } == [Rig.heart, Rig.beacon, Rig.sensor])
            #expect(list.compactMap { $0["rssi"]?.intValue } == [-50, -71, -84])
            // BlueZ adds the services that it found in an earlier connection.
            let services = list[0]["services"]?.arrayValue?.compactMap(\.stringValue) ?? []
            #expect(Set(services).isSuperset(of: ["180d", "180f"]))
            #expect(list[0]["manufacturerData"]?[0]?["data"] == "AQIDBA==")
            #expect(list[0]["manufacturerData"]?[0]?["companyName"] == "The Linux Foundation")
            #expect(list[1]["serviceData"] == [["service": "feaa", "data": "EACq"]])
            #expect(!list.description.contains("F0:F1") && !list.description.contains("F0_F1"))
            #expect(bluetooth.host.violations.isEmpty)
        }

        static let filters: [(JSON, [String])] = [
            (["services": ["heart_rate"]], [Rig.heart]), (["services": ["feaa", "181a"]], [Rig.beacon, Rig.sensor]),
            (["minRssi": -72], [Rig.heart, Rig.beacon]), (["namePrefix": "Rig S"], [Rig.sensor]), (["name": "Rig"], []),
        ]

        @Test(arguments: filters)
        func filtersHold(_ filter: JSON, _ names: [String]) async throws {
            let list = try await bluetooth.scan(filter, until: names)
            #expect(list.compactMap { $0["name"]?.stringValue } == names)
        }

        /// BlueZ merges the filters of all clients; another project scans here for everything.
        @Test func theFilterOfAnotherClientChangesNothing() async throws {
            let other = try Bluetooth()
            let all = other.host.stream("scan", ["durationMs": 0])
            _ = try await all.answer()
            let mine = bluetooth.host.stream("scan", ["durationMs": 0, "services": ["180d"]])
            // Where duplicates are filtered, what the first round has told comes again in the next one only.
            _ = try await mine.wait("device")
            for name in [Rig.heart, Rig.beacon, Rig.sensor] {
                _ = try await all.wait("device") { $0["name"]?.stringValue == name }
            }
            mine.cancel()
            let list = try await mine.end().json.arrayValue
            #expect(list?.compactMap { $0["name"]?.stringValue } == [Rig.heart])
            all.cancel()
            #expect(try await all.end().json.arrayValue?.count == 3)
        }

        @Test func stoppingLosesNothing() async throws {
            let first = bluetooth.host.stream("scan", ["durationMs": 0])
            let second = bluetooth.host.stream("scan", ["durationMs": 0, "services": ["feaa"]])
            _ = try await first.wait("device") { $0["name"]?.stringValue == Rig.beacon }
            _ = try await second.wait("device")
            #expect(try await bluetooth.host.call("stopScan") == ["stopped": 2])
            #expect(try await second.end().json.arrayValue?.count == 1)
            #expect((try await first.end().json.arrayValue?.count ?? 0) >= 1)
            #expect(try await bluetooth.host.call("stopScan") == ["stopped": 0])
            // The next one starts although the last is only just being stopped.
            #expect(try await bluetooth.scan(until: [Rig.heart, Rig.beacon, Rig.sensor]).count == 3)
        }

        @Test func changesAndDuplicatesAreReported() async throws {
            let scan = bluetooth.host.stream("scan", ["durationMs": 0, "name": .string(Rig.heart)])
            _ = try await scan.wait("device")
            try Rig.peer("manufacturer Rig Heart 0x05f1 0a0b")
            _ = try await scan.wait("device") { $0["manufacturerData"]?[0]?["data"] == "Cgs=" }
            try Rig.peer("manufacturer Rig Heart 0x05f1 01020304")
            scan.cancel()
            _ = try await scan.end()
            guard !RigTests.filtersDuplicates else { return }
            let repeating = bluetooth.host.stream(
                "scan", ["durationMs": 0, "name": .string(Rig.heart), "allowDuplicates": true])
            await eventually(.seconds(20)) { repeating.events.count >= 10 }
            #expect(repeating.events.count >= 10)
            repeating.cancel()
            _ = try await repeating.end()
        }

        @Test func aPeripheralFallsSilentAndComesBack() async throws {
            // A radio that filters duplicates tells of a device again in the next round of the scan only.
            let patience: JSON = RigTests.filtersDuplicates ? 25_000 : 3000
            let scan = bluetooth.host.stream("scan", ["durationMs": 0, "goneAfterMs": patience])
            let device = try await scan.wait("device") { $0["name"]?.stringValue == Rig.beacon }
            try Rig.peer("stop Rig Beacon")
            let gone = try await scan.wait("gone") { $0["id"] == device.json["id"] }
            #expect((gone.json["silentMs"]?.intValue ?? 0) >= 3000)
            #expect(!scan.events.contains { $0.name == "gone" && $0.payload.json["id"] != device.json["id"] })
            let count = scan.events.count
            try Rig.peer("start Rig Beacon")
            await eventually(.seconds(60)) {
                scan.events.dropFirst(count).contains {
                    $0.name == "device" && $0.payload.json["id"] == device.json["id"]
                }
            }
            scan.cancel()
            #expect(try await scan.end().json.arrayValue?.count == 3)
            #expect(scan.events.dropFirst(count).contains { $0.payload.json["id"] == device.json["id"] })
        }

        @Test func scopesLimitWhatIsSeen() async throws {
            let heart = try await bluetooth.find(Rig.heart)
            bluetooth.host.setAllows { scope, value in scope == "services" || value == heart }
            #expect(try await bluetooth.scan(until: [Rig.heart]).count == 1)
            bluetooth.host.setAllows { scope, value in
                scope == "devices" || value == "0000feaa-0000-1000-8000-00805f9b34fb"
            }
            let list = try await bluetooth.scan(until: [Rig.beacon])
            #expect(list.compactMap { $0["name"]?.stringValue } == [Rig.beacon])
        }

        @Test func idsAreKeptForTheProjectAlone() async throws {
            let project = try TestProject()
            let first = try await Bluetooth(project: project).find(Rig.heart)
            #expect(try await Bluetooth(project: project).find(Rig.heart) == first)
            #expect(try await bluetooth.find(Rig.heart) != first)
        }
    }
}

/// Needs the guest; one at a time, since there is one radio.
@Suite(.serialized, .enabled(if: Rig.isHere, "runs in the guest of Tests/Rigs/ble")) struct RigTests {
    static let filtersDuplicates = ProcessInfo.processInfo.environment["BLE_FILTER"] == "1"

    /// What takes the radio away, and what brings it back; how a scan goes on where duplicates are filtered needs two.
    static let interruptions: [(String, String)] = {
        let all = [
            ("power off", "power on"), ("restart", ""), ("unplug", "plug"), ("crash", "start"), ("block", "unblock"),
        ]
        return filtersDuplicates ? Array(all.prefix(2)) : all
    }()
}
