import ApsuleDBus
import ApsuleKit
import Foundation
import TestBus
import TestHost
import Testing

@testable import BluetoothPlugin

/// The family beside a daemon that the test plays.
struct Playground {
    let bluez: FakeBluez
    let host: TestHost

    init(
        adapters: [String] = ["hci0"], settings: JSON = .object([]), rfkill: String = "/nonexistent"
    ) async throws {
        let bluez = try await FakeBluez(adapters: adapters)
        let machine = BluetoothFamily.Machine(bus: .address(bluez.bus.address), rfkill: Rfkill(folder: rfkill))
        host = try BluetoothFamily.$machine.withValue(machine) {
            try TestHost("bluetooth", BluetoothPlugin.entry, settings: settings)
        }
        self.bluez = bluez
    }

    /// The id of the one device that a scan finds.
    func find(_ name: String = "Device 1") async throws -> JSON {
        let scan = host.stream("scan", ["durationMs": 0, "name": .string(name)])
        _ = try await scan.answer()
        await eventually { scan.events.contains { $0.name == "device" } }
        let id = try #require(scan.events.first { $0.name == "device" }?.payload.json["id"])
        scan.cancel()
        _ = try await scan.end()
        await eventually { bluez.methods.last == "StopDiscovery" }
        return id
    }

    /// Whether authorization comes to answer with a code; nil when it is ready.
    func tells(_ code: String?) async -> Bool {
        await eventually { (try? await host.call("authorization"))?["code"]?.stringValue == code }
    }

    /// The id of a device that is there and connected.
    func connect(_ name: String = "Device 1") async throws -> JSON {
        let id = try await find(name)
        try await host.call("connect", ["deviceId": id])
        return id
    }

    /// A folder as /sys/class/rfkill is.
    static func rfkill(soft: String, hard: String) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apsule-rfkill-\(UUID())").path
        try FileManager.default.createDirectory(atPath: "\(folder)/rfkill0", withIntermediateDirectories: true)
        for (name, value) in [("type", "bluetooth"), ("name", "hci0"), ("soft", soft), ("hard", hard)] {
            try "\(value)\n".write(toFile: "\(folder)/rfkill0/\(name)", atomically: true, encoding: .utf8)
        }
        return folder
    }
}

/// Holds the daemon's answer to a method back.
final class Held: Sendable {
    private let calls = Received<DBusInvocation>()

    init(_ method: String, _ bluez: FakeBluez) { bluez.answer(method) { [calls] in calls.append($0) } }

    func first() async throws -> DBusInvocation { try #require(await calls.wait().first) }
    var count: Int { calls.all.count }
}
