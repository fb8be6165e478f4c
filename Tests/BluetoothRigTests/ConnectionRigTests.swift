import ApsuleKit
import Foundation
import TestBus
import TestHost
import Testing

extension RigTests {
    @Suite struct Connecting {
        let bluetooth: Bluetooth
        var host: TestHost { bluetooth.host }
        init() throws { bluetooth = try Bluetooth() }

        @Test func servicesAndCharacteristicsAreListed() async throws {
            let id = try await bluetooth.connect(Rig.heart)
            let services = try #require(try await host.call("services", ["deviceId": id]).arrayValue)
            #expect(services.compactMap { $0["uuid"]?.stringValue } == ["1801", "180d", "180f", Rig.ownService])
            #expect(services.contains { $0["name"] == "Heart Rate" })
            let battery = try await host.call("characteristics", ["deviceId": id, "serviceId": "battery"])
            #expect(battery[0]?["uuid"] == "2a19" && battery[0]?["name"] == "Battery Level")
            #expect(battery[0]?["properties"] == ["read", "notify"] && battery[0]?["mtu"] == 517)
            let byId: JSON = ["deviceId": id, "serviceId": services[2]["id"] ?? .null]
            #expect(try await host.call("characteristics", byId) == battery)
            #expect(
                await bluetooth.code("characteristics", ["deviceId": id, "serviceId": "181a"])
                    == "bluetooth.service_not_found")
        }

        @Test func valuesAreReadAndWritten() async throws {
            let id = try await bluetooth.connect(Rig.heart)
            #expect(
                try await host.call("read", ["deviceId": id, "characteristicId": "battery_level"]) == ["value": "Vw=="])
            let echo = Rig.own(2)
            for (value, withResponse) in [("aGVsbG8=", true), ("cXVpY2s=", false)] as [(JSON, Bool)] {
                let written = try await host.call(
                    "write",
                    ["deviceId": id, "characteristicId": echo, "value": value, "withResponse": .bool(withResponse)])
                #expect(written["written"] == 5)
                let isBack = await eventually {
                    (try? await host.call("read", ["deviceId": id, "characteristicId": echo]))?["value"] == value
                }
                #expect(isBack)
            }
            let long = [UInt8](repeating: 7, count: 512)
            let write: JSON = ["deviceId": id, "characteristicId": echo, "value": ["$blob": 0]]
            #expect(try await host.call("write", write, blobs: [long])["written"] == 512)
            #expect(
                await failure { try await host.call("write", write, blobs: [long + [1]]) }?.code
                    == "bluetooth.value_too_long")
            let read = try await host.start(
                "read", ["deviceId": id, "characteristicId": echo, "encoding": "bytes"]
            ).answer()
            #expect(read.blobs == [long] && read.json == ["value": ["$blob": 0]])
            let hex = try await host.call("read", ["deviceId": id, "characteristicId": "2a38", "encoding": "hex"])
            #expect(hex == ["value": "01"])
        }

        @Test func whatADeviceRefusesIsTold() async throws {
            let id = try await bluetooth.connect(Rig.heart)
            let refused = await failure {
                try await host.call("write", ["deviceId": id, "characteristicId": Rig.own(4), "value": "AQ=="])
            }
            #expect(refused?.code == "bluetooth.att_error" && refused?.details["attError"] == 128)
            func code(_ operation: String, _ characteristic: JSON) async -> String {
                await bluetooth.code(
                    operation, ["deviceId": id, "characteristicId": characteristic, "value": "AQ=="])
            }
            #expect(await code("write", "2a19") == "bluetooth.not_supported")
            #expect(await code("read", "2a37") == "bluetooth.not_supported")
            #expect(await code("read", "2a00") == "bluetooth.characteristic_not_found")
            #expect(
                await bluetooth.streamCode("subscribe", ["deviceId": id, "characteristicId": "2a38"])
                    == "bluetooth.not_supported")
            #expect(
                await bluetooth.code("read", ["deviceId": "nobody", "characteristicId": "2a19"])
                    == "bluetooth.not_connected")
        }

        @Test func notificationsArriveInOrder() async throws {
            let id = try await bluetooth.connect(Rig.heart)
            let subscribe: JSON = ["deviceId": id, "characteristicId": "heart_rate_measurement", "encoding": "hex"]
            let stream = host.stream("subscribe", subscribe)
            let second = host.stream("subscribe", subscribe)
            await eventually(.seconds(30)) { stream.events.count >= 10 && second.events.count >= 5 }
            let values = stream.events.prefix(10).compactMap { $0.payload.json["value"]?.stringValue }
            let cycle = ["0648", "0649", "064a"]
            let start = try #require(cycle.firstIndex(of: values.first ?? ""))
            #expect(values == (0..<10).map { cycle[(start + $0) % 3] })
            stream.cancel()
            _ = try? await stream.end()
            let count = second.events.count
            await eventually { second.events.count > count + 3 }
            #expect(second.events.count > count + 3)
            second.cancel()
            _ = try? await second.end()
            try await Task.sleep(for: .seconds(1))
            let ended = (stream.events.count, second.events.count)
            try await Task.sleep(for: .seconds(1))
            #expect(ended == (stream.events.count, second.events.count))
            let again = host.stream("subscribe", subscribe)
            _ = try await again.wait("value")
            #expect(host.violations.isEmpty)
        }

        @Test func aLostLinkEndsWhatHangsOnIt() async throws {
            let watch = host.stream("watch")
            let id = try await bluetooth.connect(Rig.heart)
            _ = try await watch.wait("connected") { $0["id"] == id }
            let stream = host.stream("subscribe", ["deviceId": id, "characteristicId": "2a37"])
            _ = try await stream.wait("value")
            try Rig.peer("disconnect Rig Heart")
            #expect(await failure { try await stream.end() }?.code == "bluetooth.disconnected")
            let lost = try await watch.wait("disconnected") { $0["id"] == id }
            #expect(lost.json["reason"] == "lost" && lost.json["name"]?.stringValue == Rig.heart)
            #expect(
                await bluetooth.code("read", ["deviceId": id, "characteristicId": "2a19"]) == "bluetooth.not_connected")
            // Without a scan in between: BlueZ still knows the device, or a scan is made for it.
            try await host.call("connect", ["deviceId": id])
            #expect(try await host.call("read", ["deviceId": id, "characteristicId": "2a19"]) == ["value": "Vw=="])
        }

        @Test func aReadThatIsUnderWayEndsWithTheLink() async throws {
            let id = try await bluetooth.connect(Rig.heart)
            let slow = host.start("read", ["deviceId": id, "characteristicId": Rig.own(5)])
            try await Task.sleep(for: .milliseconds(700))
            try Rig.peer("disconnect Rig Heart")
            #expect(await failure { try await slow.answer() }?.code == "bluetooth.disconnected")
        }

        @Test func disconnectingIsTold() async throws {
            let watch = host.stream("watch")
            let id = try await bluetooth.connect(Rig.heart)
            let stream = host.stream("subscribe", ["deviceId": id, "characteristicId": "2a37"])
            _ = try await stream.wait("value")
            #expect(try await host.call("disconnect", ["deviceId": id]) == ["connected": false])
            #expect(await failure { try await stream.end() }?.code == "bluetooth.disconnected")
            #expect(try await watch.wait("disconnected").json["reason"] == "requested")
            #expect(try await host.call("disconnect", ["deviceId": id]) == ["connected": false])
        }

        /// A link that another program made is used, and left alone.
        @Test func theLinkOfAnotherStays() async throws {
            let other = try Bluetooth()
            // A connected device does not advertise.
            let mine = JSON.string(try await bluetooth.find(Rig.heart))
            let theirs = try await other.connect(Rig.heart)
            try await host.call("connect", ["deviceId": mine])
            #expect(try await host.call("read", ["deviceId": mine, "characteristicId": "2a19"]) == ["value": "Vw=="])
            #expect(try await host.call("disconnect", ["deviceId": mine]) == ["connected": true])
            #expect(
                try await other.host.call("read", ["deviceId": theirs, "characteristicId": "2a19"]) == ["value": "Vw=="]
            )
            other.host.close()
            let isCut = await eventually {
                (try? Rig.peer("state Rig Heart"))?.contains("\"connected\": false") == true
            }
            #expect(isCut, "closing cuts the links that the project made")
        }

        @Test func aDeviceThatBluezForgotIsFoundAgain() async throws {
            let id = JSON.string(try await bluetooth.find(Rig.heart))
            try Rig.forget(Rig.heart)
            try await host.call("connect", ["deviceId": id])
            #expect(try await host.call("read", ["deviceId": id, "characteristicId": "2a19"]) == ["value": "Vw=="])
        }

        @Test func aSilentDeviceIsNotFoundAndCancellingEndsTheAttempt() async throws {
            let id = JSON.string(try await bluetooth.find(Rig.heart))
            try Rig.peer("stop Rig Heart")
            let attempt = host.start("connect", ["deviceId": id])
            try await Task.sleep(for: .seconds(2))
            attempt.cancel()
            #expect(await failure { try await attempt.answer() }?.code == "host.cancelled")
            try Rig.forget(Rig.heart)
            #expect(
                await bluetooth.code("connect", ["deviceId": id, "timeoutMs": 8000]) == "bluetooth.device_not_found")
            try Rig.peer("start Rig Heart")
            try await host.call("connect", ["deviceId": id])
        }

        @Test func theBlocklistAndTheScopeHold() async throws {
            let id = try await bluetooth.connect(Rig.heart)
            host.setAllows { scope, value in scope == "devices" || value.hasPrefix("0000180f") }
            let services = try await host.call("services", ["deviceId": id]).arrayValue
            #expect(services?.compactMap { $0["uuid"]?.stringValue } == ["180f"])
            #expect(await bluetooth.code("read", ["deviceId": id, "characteristicId": "2a38"]) == "permission.denied")
            #expect(
                await bluetooth.code("characteristics", ["deviceId": id, "serviceId": "180d"]) == "permission.denied")
            #expect(try await host.call("read", ["deviceId": id, "characteristicId": "2a19"]) == ["value": "Vw=="])
            #expect(
                await bluetooth.streamCode("scan", ["services": ["human_interface_device"]]) == "bluetooth.blocklisted")
        }
    }
}
