import ApsuleKit
import BluetoothPlugin
import Foundation
import TestBus
import TestHost
import Testing

/// The guest of Tests/Rigs/ble, where a real bluetoothd and emulated peripherals are.
enum Rig {
    static let isHere = ProcessInfo.processInfo.environment["BLE_RIG"] == "1"
    static let heart = "Rig Heart"
    static let beacon = "Rig Beacon"
    static let sensor = "Rig Sensor"
    static let ownService = "6b1f0001-5a3c-4c2b-9e8d-0a1b2c3d4e5f"

    /// A characteristic of the heart's own service by its number.
    static func own(_ number: Int) -> JSON { .string("6b1f000\(number)-5a3c-4c2b-9e8d-0a1b2c3d4e5f") }

    /// Commands the radio: `disconnect Rig Heart`.
    @discardableResult
    static func peer(_ command: String) throws -> String { try run("ble-peer", command) }

    /// Changes the daemon, the adapter or the policy: `restart`, `power off`.
    static func daemon(_ command: String) throws { _ = try run("ble-daemon", command) }

    @discardableResult
    static func run(_ program: String, _ arguments: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program, arguments]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw HostError("test.rig", "\(program) \(arguments): \(text)") }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// The family in this process, and what tests ask of it again and again.
struct Bluetooth {
    let host: TestHost

    init(settings: JSON = .object([]), project: TestProject? = nil) throws {
        host = try TestHost("bluetooth", BluetoothPlugin.entry, project: project, settings: settings)
    }

    /// The id of a peripheral, found by scanning.
    func find(_ name: String) async throws -> String {
        let scan = host.stream("scan", ["durationMs": 30_000, "name": .string(name)])
        _ = try await scan.answer()
        let found = try await scan.wait("device")
        scan.cancel()
        _ = try await scan.end()
        return try #require(found.json["id"]?.stringValue)
    }

    /// Scans until these have been found, and what else comes in a moment.
    ///
    /// Where duplicates are filtered, an advertisement that the kernel misses comes again with the next round only.
    func scan(_ arguments: JSON = .object([]), until names: [String]) async throws -> [JSON] {
        var arguments = arguments
        arguments.set("durationMs", 0)
        let scan = host.stream("scan", arguments)
        _ = try await scan.answer()
        for name in names { _ = try await scan.wait("device") { $0["name"]?.stringValue == name } }
        try await Task.sleep(for: .seconds(2))
        scan.cancel()
        return try #require(try await scan.end().json.arrayValue)
    }

    func connect(_ name: String) async throws -> JSON {
        let id = JSON.string(try await find(name))
        try await host.call("connect", ["deviceId": id])
        return id
    }

    /// An error's code, "none" without an error.
    func code(_ operation: String, _ arguments: JSON = .object([])) async -> String {
        await failure { try await host.call(operation, arguments) }?.code ?? "none"
    }

    func streamCode(_ operation: String, _ arguments: JSON = .object([])) async -> String {
        await failure { try await host.stream(operation, arguments).answer() }?.code ?? "none"
    }
}

extension TestCall {
    /// Waits for an event of a name that `condition` takes.
    func wait(
        _ name: String, within time: Duration = .seconds(60), where condition: (JSON) -> Bool = { _ in true }
    ) async throws -> Message {
        var found: Message?
        await eventually(time) {
            found = events.first { $0.name == name && condition($0.payload.json) }?.payload
            return found != nil || hasEnded
        }
        if found == nil, hasEnded { _ = try await end() }
        return try #require(found, "no event \(name); there were \(Set(events.map(\.name)))")
    }
}
