import ApsuleDBus
import TestBus
import Testing

@Suite struct ConnectionTests {
    let bus: TestBus
    init() throws { bus = try TestBus() }

    private func open() async throws -> DBusConnection { try await DBusConnection.open(.address(bus.address)) }

    @Test func anErrorCarriesItsName() async throws {
        let echo = try await Echo(bus.address)
        let client = try await open()
        let error = await failure { _ = try await client.echo("Refuse") }
        #expect(error == .remote("org.apsule.Error.Refused", "Not today."))
        let unknown = await failure { _ = try await client.call("org.apsule.None", "/", "a.b", "C") }
        #expect(unknown?.name == "org.freedesktop.DBus.Error.ServiceUnknown")
        echo.unexport()
        let gone = await failure { _ = try await client.echo("Refuse") }
        #expect(gone?.name == "org.freedesktop.DBus.Error.UnknownMethod")
    }

    @Test func thePolicyOfTheBusIsToldApart() async throws {
        let client = try await open()
        let error = await failure {
            _ = try await client.call(client.uniqueName, "/", "org.apsule.Forbidden", "Method")
        }
        #expect(error?.name == "org.freedesktop.DBus.Error.AccessDenied")
    }

    @Test func aCallTimesOutAndIsCancelled() async throws {
        let echo = try await Echo(bus.address)
        let client = try await open()
        let start = ContinuousClock.now
        #expect(await failure { _ = try await client.echo("Hang", timeout: .milliseconds(100)) }?.kind == .timedOut)
        #expect(ContinuousClock.now - start < .seconds(5))
        let task = Task { await failure { _ = try await client.echo("Hang", timeout: .seconds(60)) } }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        #expect(await task.value?.kind == .cancelled)
        #expect(ContinuousClock.now - start < .seconds(10))
        echo.unexport()
    }

    @Test func anUnansweredInvocationFails() async throws {
        let echo = try await Echo(bus.address)
        let client = try await open()
        let error = await failure { _ = try await client.echo("Forget") }
        #expect(error == .remote("org.freedesktop.DBus.Error.Failed", "The method gave no answer."))
        echo.unexport()
    }

    @Test func propertiesAreCalledThroughTheHandler() async throws {
        let echo = try await Echo(bus.address)
        let client = try await open()
        let level = try await client.call(
            Echo.name, Echo.path, "org.freedesktop.DBus.Properties", "Get", .string("org.apsule.Echo"), .string("Level")
        )
        #expect(level == [.variant(.int32(7))])
        echo.unexport()
    }

    @Test func aPathServesAnInterfaceOnce() async throws {
        let echo = try await Echo(bus.address)
        let xml = "<node><interface name='org.apsule.Echo'/></node>"
        let again = await failure {
            _ = try await echo.connection.export(Echo.path, DBusInterface(xml: xml)) { _ in }
        }
        #expect(again?.kind == .invalid)
        #expect(await failure { _ = try DBusInterface(xml: "<node>") }?.kind == .invalid)
        #expect(await failure { _ = try DBusInterface(xml: "<node/>") }?.kind == .invalid)
    }

    @Test func signalsArriveInOrderUntilCancelled() async throws {
        let sender = try await open()
        let client = try await open()
        let received = Received<DBusSignal>()
        let filter = DBusSignalFilter(sender: sender.uniqueName, interface: "org.apsule.Test", member: "Count")
        let subscription = client.subscribe(filter) { received.append($0) }
        _ = try await client.call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        for count in 0..<1000 {
            try sender.emit("/a", "org.apsule.Test", "Count", [.int32(Int32(count))])
            try sender.emit("/a", "org.apsule.Test", "Other")
        }
        let signals = await received.wait { $0.count == 1000 }
        #expect(signals.map { $0.arguments.first?.intValue } == Array(0..<1000))
        #expect(signals.first?.sender == sender.uniqueName && signals.first?.path == "/a")
        subscription.cancel()
        subscription.cancel()
        try sender.emit("/a", "org.apsule.Test", "Count", [.int32(-1)])
        _ = try await client.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        #expect(received.all.count == 1000)
    }

    @Test func anAnswerComesInOrderWithTheSignalsAroundIt() async throws {
        let echo = try await Echo(bus.address)
        let client = try await open()
        let received = Received<String>()
        let filter = DBusSignalFilter(sender: Echo.name, interface: "org.apsule.Test")
        let subscription = client.subscribe(filter) { received.append($0.member) }
        _ = try await client.echo("Echo", .variant(.bool(true)))
        for round in 0..<50 {
            try echo.connection.emit("/", "org.apsule.Test", "Before\(round)")
            client.send(DBusCall(Echo.name, Echo.path, "org.apsule.Echo", "Echo", [.variant(.bool(true))])) { _ in
                received.append("Answer\(round)")
            }
            await received.wait { $0.count == 2 * round + 2 }
        }
        #expect(received.all == (0..<50).flatMap { ["Before\($0)", "Answer\($0)"] })
        subscription.cancel()
        echo.unexport()
    }

    @Test func aNameIsWatched() async throws {
        let client = try await open()
        let owners = Received<String?>()
        let subscription = client.watchName(Echo.name) { owners.append($0) }
        await owners.wait { $0.count == 1 }
        #expect(owners.all == [nil])
        var echo: Echo? = try await Echo(bus.address)
        let name = echo?.connection.uniqueName
        await owners.wait { $0.count == 2 }
        #expect(owners.all == [nil, name])
        echo?.connection.close()
        echo = nil
        await owners.wait { $0.count == 3 }
        #expect(owners.all == [nil, name, nil])
        subscription.cancel()
    }

    @Test func theBusDiesAndComesBack() async throws {
        let echo = try await Echo(bus.address)
        let client = try await DBusConnection.shared(.address(bus.address))
        #expect(try await DBusConnection.shared(.address(bus.address)) === client)
        let closed = Received<Bool>()
        let owners = Received<String?>()
        let watching = client.watchName(Echo.name) { owners.append($0) }
        let closing = client.onClosed { closed.append(true) }
        await owners.wait()
        let hanging = Task { await failure { _ = try await client.echo("Hang", timeout: .seconds(60)) } }
        try await Task.sleep(for: .milliseconds(50))
        bus.kill()
        #expect(await hanging.value?.kind == .closed)
        await closed.wait()
        #expect(closed.all == [true] && client.isClosed)
        #expect(await owners.wait { $0.count == 2 }.last == .some(nil))
        #expect(await failure { _ = try await client.echo("Refuse") }?.kind == .closed)
        #expect(await failure { _ = try await DBusConnection.open(.address(bus.address)) }?.kind == .unreachable)
        let late = Received<Bool>()
        let lateClosing = client.onClosed { late.append(true) }
        #expect(await late.wait() == [true])

        try bus.start()
        let again = try await DBusConnection.shared(.address(bus.address))
        #expect(again !== client)
        let second = try await Echo(bus.address)
        #expect(try await again.echo("Echo", .variant(.int32(1))) == [.variant(.int32(1))])
        for subscription in [watching, closing, lateClosing] { subscription.cancel() }
        echo.unexport()
        second.unexport()
    }

    @Test func theLastReferenceClosesTheConnection() async throws {
        let watcher = try await open()
        var client: DBusConnection? = try await open()
        let name = try #require(client?.uniqueName)
        let owners = Received<String?>()
        let subscription = watcher.watchName(name) { owners.append($0) }
        await owners.wait { $0.count == 1 }
        client = nil
        #expect(await owners.wait { $0.count == 2 }.last == .some(nil))
        subscription.cancel()
    }

    @Test func aSocketThatDoesNotAnswerTimesOut() async throws {
        let address = try SilentSocket()
        let error = await failure {
            _ = try await DBusConnection.open(.address(address.address), timeout: .milliseconds(200))
        }
        #expect(error?.kind == .timedOut)
    }
}
