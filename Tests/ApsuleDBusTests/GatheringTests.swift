import ApsuleDBus
import TestBus
import Testing

@Suite struct GatheringTests {
    let bus: TestBus
    init() throws { bus = try TestBus() }

    private func open() async throws -> DBusConnection { try await DBusConnection.open(.address(bus.address)) }

    private func tell(
        _ sender: DBusConnection, _ properties: [(String, Int32)], of interface: String = "org.apsule.Thing",
        invalidated: [String] = []
    ) throws {
        let entries = properties.map { DBusValue.Entry(.string($0.0), .variant(.int32($0.1))) }
        try sender.emit(
            "/a", "org.freedesktop.DBus.Properties", "PropertiesChanged",
            [.string(interface), .dictionary(entries, element: "{sv}"), .strings(invalidated)])
    }

    @Test func whatMayWaitComesTogetherAndInOrder() async throws {
        let (sender, client) = (try await open(), try await open())
        let received = Received<String>()
        let asked = client.subscribe(DBusSignalFilter(sender: sender.uniqueName)) {
            received.append("signal \($0.member)")
        }
        let gathering = client.gather(
            DBusGathering(
                sender: sender.uniqueName, interface: "org.apsule.Thing", properties: ["Level"],
                interval: .seconds(60))
        ) { received.append("gathered \($0.arguments[1])") }
        _ = try await client.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        // The first after a silence at once.
        try tell(sender, [("Level", 0)])
        await received.wait { $0.count == 1 }
        for count in 1...9 { try tell(sender, [("Level", Int32(count))]) }
        sender.flush()
        _ = try await client.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        // The answer came behind them, so that they were handed over before it.
        #expect(received.all.count == 10 && received.all.allSatisfy { $0.hasPrefix("gathered") })
        // None of these may wait.
        try tell(sender, [("Level", 10)])
        try tell(sender, [("Level", 1), ("Name", 2)])
        try tell(sender, [("Level", 1)], of: "org.apsule.Other")
        try tell(sender, [("Level", 1)], invalidated: ["Name"])
        try sender.emit("/a", "org.apsule.Thing", "Level")
        let all = await received.wait { $0.count == 15 }
        #expect(all[10].hasPrefix("gathered"))
        #expect(all[11...].map { $0.hasPrefix("signal") } == [true, true, true, true])
        // So many are enough.
        for count in 0..<64 { try tell(sender, [("Level", Int32(count))]) }
        await received.wait { $0.count == 79 }
        gathering.cancel()
        try tell(sender, [("Level", 1)])
        #expect(await received.wait { $0.count == 80 }.last?.hasPrefix("signal") == true)
        asked.cancel()
    }

    @Test func theLastIsNotForgotten() async throws {
        let (sender, client) = (try await open(), try await open())
        let received = Received<String>()
        let asked = client.subscribe(DBusSignalFilter(sender: sender.uniqueName)) { _ in }
        let gathering = client.gather(
            DBusGathering(
                sender: sender.uniqueName, interface: "org.apsule.Thing", properties: ["Level"],
                interval: .milliseconds(50))
        ) { received.append("\($0.arguments[1])") }
        _ = try await client.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        for count in 0..<5 { try tell(sender, [("Level", Int32(count))]) }
        #expect(await received.wait { $0.count == 5 }.count == 5)
        gathering.cancel()
        asked.cancel()
    }
}
