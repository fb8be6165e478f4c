import ApsuleKit
import Foundation
import TestBus
import TestHost
import Testing

extension RigTests {
    @Suite struct Radio {
        let bluetooth: Bluetooth
        var host: TestHost { bluetooth.host }
        init() throws { bluetooth = try Bluetooth() }

        @Test func aReadyRadioSaysSo() async throws {
            let answer = try await host.call("authorization")
            #expect(answer["status"] == "ready" && answer["bluez"] == "5.66" && answer["adapter"]?["name"] == "hci0")
        }

        @Test(arguments: [
            ("power off", "power on", "bluetooth.adapter_off"), ("block", "unblock", "bluetooth.adapter_blocked"),
            ("unplug", "plug", "bluetooth.adapter_missing"), ("stop", "start", "bluetooth.daemon_missing"),
        ])
        func eachStateHasItsReasonAndFix(_ trouble: String, _ mend: String, _ code: String) async throws {
            let watch = host.stream("watch")
            _ = try await watch.wait("state") { $0["status"] == "ready" }
            try Rig.daemon(trouble)
            let error = await failure { try await host.stream("scan", ["durationMs": 1000]).answer() }
            #expect(error?.code == code && error?.details["fix"]?.stringValue?.isEmpty == false)
            let answer = try await host.call("authorization")
            #expect(answer["status"] == "unavailable" && answer["code"]?.stringValue == code)
            #expect(answer["reason"]?.stringValue == error?.message && answer["fix"] == error?.details["fix"])
            _ = try await watch.wait("state") { $0["code"]?.stringValue == code }
            #expect(await bluetooth.code("connect", ["deviceId": "x"]) == code)
            let count = watch.events.count
            try Rig.daemon(mend)
            await eventually(.seconds(60)) {
                watch.events.dropFirst(count).contains { $0.payload.json["status"] == "ready" }
            }
            #expect(try await host.call("authorization")["status"] == "ready")
            #expect(watch.events.last?.payload.json["status"] == "ready")
            #expect(try await host.stream("scan", ["durationMs": 5000]).end().json.arrayValue?.isEmpty == false)
        }

        @Test(arguments: RigTests.interruptions)
        func aScanGoesOnWhenTheRadioIsBack(_ trouble: String, _ mend: String) async throws {
            let scan = host.stream("scan", ["durationMs": 0])
            _ = try await scan.wait("device") { $0["name"]?.stringValue == Rig.beacon }
            try Rig.daemon(trouble)
            let lost = try await scan.wait("lost")
            #expect(lost.json["code"]?.stringValue?.hasPrefix("bluetooth.") == true)
            if !mend.isEmpty { try Rig.daemon(mend) }
            _ = try await scan.wait("resubscribed")
            let count = scan.events.count
            try Rig.peer("manufacturer Rig Heart 0x05f1 0c0d")
            await eventually(.seconds(60)) {
                scan.events.dropFirst(count).contains { $0.payload.json["manufacturerData"]?[0]?["data"] == "DA0=" }
            }
            #expect(
                scan.events.dropFirst(count).contains { $0.payload.json["manufacturerData"]?[0]?["data"] == "DA0=" })
            try Rig.peer("manufacturer Rig Heart 0x05f1 01020304")
            scan.cancel()
            #expect(try await scan.end().json.arrayValue?.count == 3)
        }

        @Test(arguments: [("crash", "start", "daemonStopped"), ("power off", "power on", "lost")])
        func aConnectionEndsWithTheRadio(_ trouble: String, _ mend: String, _ reason: String) async throws {
            let watch = host.stream("watch")
            let id = try await bluetooth.connect(Rig.heart)
            let stream = host.stream("subscribe", ["deviceId": id, "characteristicId": "2a37"])
            _ = try await stream.wait("value")
            try Rig.daemon(trouble)
            #expect(await failure { try await stream.end() }?.code == "bluetooth.disconnected")
            #expect(try await watch.wait("disconnected").json["reason"]?.stringValue == reason)
            try Rig.daemon(mend)
            await eventually(.seconds(60)) {
                await bluetooth.code("authorization") == "none" && watch.events.last?.payload.json["status"] == "ready"
            }
            try await host.call("connect", ["deviceId": id])
            let again = host.stream("subscribe", ["deviceId": id, "characteristicId": "2a37"])
            _ = try await again.wait("value")
        }

        /// Not as root, whom the bus lets through.
        @Test func aUserWhoIsRefusedIsTold() async throws {
            try Rig.daemon("deny " + NSUserName())
            let error = await failure { try await host.stream("scan", ["durationMs": 1000]).answer() }
            let answer = try await host.call("authorization")
            try Rig.daemon("allow")
            #expect(error?.code == "bluetooth.access_denied")
            #expect(
                answer["code"] == "bluetooth.access_denied" && answer["fix"]?.stringValue?.contains("group") == true)
            #expect(try await host.call("authorization")["status"] == "ready")
        }

        /// Nothing advertises: the scan says so, starts again, and hears what comes then.
        @Test func aSilentScanIsStartedAgain() async throws {
            let scan = host.stream("scan", ["durationMs": 0])
            _ = try await scan.wait("device") { $0["name"]?.stringValue == Rig.sensor }
            let names = [Rig.heart, Rig.beacon, Rig.sensor]
            for name in names { try Rig.peer("stop \(name)") }
            let stalled = try await scan.wait("stalled")
            #expect(stalled.json["code"] == "bluetooth.scan_stalled" && stalled.json["restarts"] == 1)
            let count = scan.events.count
            for name in names { try Rig.peer("start \(name)") }
            try Rig.peer("manufacturer Rig Heart 0x05f1 0e0f")
            await eventually(.seconds(60)) { scan.events.dropFirst(count).contains { $0.name == "device" } }
            try Rig.peer("manufacturer Rig Heart 0x05f1 01020304")
            #expect(scan.events.dropFirst(count).contains { $0.name == "device" })
            scan.cancel()
            #expect(try await scan.end().json.arrayValue?.count == 3)
        }

        @Test func aDaemonThatHangsMidScanIsNoticed() async throws {
            let scan = host.stream("scan", ["durationMs": 0])
            _ = try await scan.wait("device")
            try Rig.daemon("freeze")
            _ = try await scan.wait("lost", within: .seconds(90))
            try Rig.daemon("thaw")
            _ = try await scan.wait("resubscribed")
            scan.cancel()
            #expect(try await scan.end().json.arrayValue?.isEmpty == false)
        }

        @Test func aDaemonThatHangsIsNoAnswer() async throws {
            let id = try await bluetooth.connect(Rig.heart)
            try Rig.daemon("freeze")
            let start = ContinuousClock.now
            let code = await bluetooth.code("read", ["deviceId": id, "characteristicId": "2a19"])
            try Rig.daemon("thaw")
            #expect(code == "bluetooth.no_answer")
            #expect(ContinuousClock.now - start < .seconds(60))
        }
    }
}

extension Rig {
    /// Makes BlueZ forget a device at once, as it does by itself after 30 s.
    static func forget(_ name: String) throws {
        try run(
            "bash",
            script: """
                path=$(dbus-send --system --print-reply --dest=org.bluez / \
                  org.freedesktop.DBus.ObjectManager.GetManagedObjects | awk -v name="$0" '
                    /object path ".*dev_/ { split($0, p, "\\""); path = p[2] }
                    /string "Name"/ { getline; split($0, n, "\\""); if (n[2] == name) { print path; exit } }')
                dbus-send --system --print-reply --dest=org.bluez /org/bluez/hci0 org.bluez.Adapter1.RemoveDevice \
                  objpath:"$path"
                """, name)
    }

    private static func run(_ shell: String, script: String, _ argument: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [shell, "-c", script, argument]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw HostError("test.rig", "BlueZ does not know \(argument)") }
    }
}
