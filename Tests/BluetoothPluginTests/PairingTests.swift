import ApsuleDBus
import ApsuleKit
import TestBus
import TestHost
import Testing

/// What an emulated peripheral does not ask: our agent, called as the daemon calls it.
@Suite struct PairingTests {
    let place: Playground
    let device: String
    var bluez: FakeBluez { place.bluez }
    var host: TestHost { place.host }

    init() async throws {
        place = try await Playground()
        device = try await place.bluez.addDevice(1)
    }

    /// A pairing under way: the stream, its id, the daemon's pending call and the agent.
    private struct Pairing {
        let stream: TestCall
        let id: JSON
        let pair: DBusInvocation
        let agent: FakeBluez.Asked

        var agentPath: String { agent.arguments.first?.stringValue ?? "" }

        /// The daemon's question to the agent.
        func ask(
            _ method: String, _ arguments: DBusValue..., on connection: DBusConnection
        ) async throws -> [DBusValue] {
            try await connection.call(
                DBusCall(agent.sender, agentPath, "org.bluez.Agent1", method, arguments, timeout: .seconds(20)))
        }
    }

    private func begin(_ arguments: JSON = .object([])) async throws -> Pairing {
        let id = try await place.find()
        let held = Held("Pair", bluez)
        var arguments = arguments
        arguments.set("deviceId", id)
        let stream = host.stream("pair", arguments)
        let handle = try await stream.answer().json
        let pair = try await held.first()
        let agent = try #require(bluez.asked("RegisterAgent").first)
        return Pairing(stream: stream, id: handle["pairingId"] ?? .null, pair: pair, agent: agent)
    }

    private func finish(_ pairing: Pairing) async throws {
        pairing.pair.reply()
        #expect(try await pairing.stream.end().json == ["paired": true])
        #expect(await eventually { bluez.asked("UnregisterAgent").count == 1 })
        #expect(!bluez.methods.contains("RequestDefaultAgent"), "never the default agent")
        #expect(host.violations.isEmpty)
    }

    private func answer(_ pairing: Pairing, accept: Bool = true, passkey: String? = nil) async throws -> JSON {
        var arguments: JSON = ["pairingId": pairing.id, "accept": .bool(accept)]
        if let passkey { arguments.set("passkey", .string(passkey)) }
        return try await host.call("confirmPairing", arguments)
    }

    @Test func aPersonEntersAPasskey() async throws {
        let pairing = try await begin()
        async let answered = pairing.ask("RequestPasskey", .path(device), on: bluez.connection)
        #expect(await eventually { pairing.stream.events.first?.name == "enter" })
        #expect(pairing.stream.events.first?.payload.json == ["digits": 6])
        #expect(try await answer(pairing, passkey: "012345") == ["answered": true])
        #expect(try await answered == [.uint32(12345)])
        try await finish(pairing)
    }

    @Test(arguments: ["", "1234567", "-5", "1e3", "12 34", "٤٢"]) func whatIsNoPasskeyRefuses(_ text: String)
        async throws
    {
        let pairing = try await begin()
        let answered = Task { try await pairing.ask("RequestPasskey", .path(device), on: bluez.connection) }
        await eventually { pairing.stream.events.first?.name == "enter" }
        _ = try await answer(pairing, passkey: text)
        let error = await #expect(throws: DBusError.self) { try await answered.value }
        #expect(error?.name == "org.bluez.Error.Rejected")
        pairing.pair.fail("org.bluez.Error.AuthenticationFailed", "Authentication Failed")
        #expect(await failure { try await pairing.stream.end() }?.code == "bluetooth.pairing_failed")
    }

    @Test func aPersonEntersAPin() async throws {
        let pairing = try await begin()
        async let answered = pairing.ask("RequestPinCode", .path(device), on: bluez.connection)
        #expect(await eventually { pairing.stream.events.first?.name == "enter" })
        #expect(pairing.stream.events.first?.payload.json == .object([]))
        _ = try await answer(pairing, passkey: "00ab")
        #expect(try await answered == [.string("00ab")])
        try await finish(pairing)
    }

    @Test func aPersonComparesNumbers() async throws {
        let pairing = try await begin()
        async let answered = pairing.ask("RequestConfirmation", .path(device), .uint32(42), on: bluez.connection)
        #expect(await eventually { pairing.stream.events.first?.name == "confirm" })
        #expect(pairing.stream.events.first?.payload.json == ["passkey": "000042"])
        _ = try await answer(pairing)
        #expect(try await answered == [])
        try await finish(pairing)
    }

    @Test func aNumberToTypeIsShown() async throws {
        let pairing = try await begin()
        let connection = bluez.connection
        _ = try await pairing.ask("DisplayPasskey", .path(device), .uint32(7), .uint16(0), on: connection)
        _ = try await pairing.ask("DisplayPinCode", .path(device), .string("4711"), on: connection)
        #expect(await eventually { pairing.stream.events.count == 2 })
        #expect(pairing.stream.events.map(\.payload.json) == [["passkey": "000007"], ["passkey": "4711"]])
        try await finish(pairing)
    }

    @Test func whatTheDaemonWithdrawsIsNoLongerAnswered() async throws {
        let pairing = try await begin()
        let answered = Task {
            try await pairing.ask("RequestConfirmation", .path(device), .uint32(1), on: bluez.connection)
        }
        await eventually { pairing.stream.events.first?.name == "confirm" }
        _ = try await pairing.ask("Cancel", on: bluez.connection)
        let error = await #expect(throws: DBusError.self) { try await answered.value }
        #expect(error?.name == "org.bluez.Error.Canceled")
        #expect(try await answer(pairing) == ["answered": false])
        pairing.pair.fail("org.bluez.Error.AuthenticationCanceled", "Authentication Canceled")
        #expect(await failure { try await pairing.stream.end() }?.code == "bluetooth.pairing_cancelled")
    }

    /// Whoever is not the owner of org.bluez could learn numbers, or make a person confirm one of theirs.
    @Test func aStrangerIsRefused() async throws {
        let pairing = try await begin()
        let stranger = try await DBusConnection.open(.address(bluez.bus.address))
        for (method, arguments) in [
            ("RequestConfirmation", [.path(device), .uint32(42)]), ("RequestPasskey", [.path(device)]),
            ("RequestAuthorization", [.path(device)]), ("Cancel", []), ("Release", []),
        ] as [(String, [DBusValue])] {
            let call = DBusCall(pairing.agent.sender, pairing.agentPath, "org.bluez.Agent1", method, arguments)
            let error = await #expect(throws: DBusError.self) { try await stranger.call(call) }
            #expect(error?.name == "org.bluez.Error.Rejected")
        }
        #expect(pairing.stream.events.isEmpty)
        try await finish(pairing)
    }

    @Test func anotherDeviceIsRefused() async throws {
        let pairing = try await begin()
        let other = try await bluez.addDevice(2)
        for (method, arguments) in [
            ("RequestConfirmation", [.path(other), .uint32(42)]), ("RequestAuthorization", [.path(other)]),
            ("AuthorizeService", [.path(device), .string("180f")]),
        ] as [(String, [DBusValue])] {
            let call = DBusCall(pairing.agent.sender, pairing.agentPath, "org.bluez.Agent1", method, arguments)
            let error = await #expect(throws: DBusError.self) { try await bluez.connection.call(call) }
            #expect(error?.name == "org.bluez.Error.Rejected")
        }
        #expect(pairing.stream.events.isEmpty)
        try await finish(pairing)
    }

    @Test func onlyOneDeviceIsPairedAtATime() async throws {
        let pairing = try await begin()
        try await bluez.addDevice(2)
        let other = try await place.find("Device 2")
        #expect(
            await failure { try await host.stream("pair", ["deviceId": other]).end() }?.code
                == "bluetooth.in_progress")
        try await finish(pairing)
    }

    @Test func aCancelledPairingIsCancelledAtTheDaemon() async throws {
        let pairing = try await begin()
        pairing.stream.cancel()
        #expect(await failure { try await pairing.stream.end() }?.code == "host.cancelled")
        #expect(await eventually { Set(bluez.methods).isSuperset(of: ["CancelPairing", "UnregisterAgent"]) })
        // The late answer changes nothing.
        pairing.pair.reply()
        #expect(
            await failure { try await host.call("unpair", ["deviceId": place.find()]) }?.code
                == "bluetooth.not_paired_here")
    }

    @Test(arguments: [("none", "NoInputNoOutput"), ("displayYesNo", "DisplayYesNo"), ("keyboardOnly", "KeyboardOnly")])
    func theCapabilityIsTold(_ given: String, _ told: String) async throws {
        let pairing = try await begin(["capability": .string(given)])
        #expect(pairing.agent.arguments.last == .string(told))
        try await finish(pairing)
    }
}
