import ApsuleKit
import SsePlugin
import TestHost
import TestWeb
import Testing

/// Connections to the tests' server, among them the request cases of the Web Platform Tests' eventsource folder.
@Suite struct ConnectTests {
    let server: WebServer
    let host: TestHost

    init() throws {
        server = try WebServer()
        host = try TestHost("sse", SsePlugin.entry)
    }

    static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    private func connect(_ plans: [[WebServer.Step]], _ arguments: JSON = .object([])) -> TestCall {
        start(server.url(WebServer.rounds(plans)), arguments)
    }

    private func start(_ url: String, _ arguments: JSON = .object([])) -> TestCall {
        host.stream("connect", .object([.init("url", .string(url))] + (arguments.members ?? [])))
    }

    private func messages(_ call: TestCall, _ count: Int) async throws -> [JSON] {
        for _ in 0..<1000 {
            let found = call.events.filter { $0.name == "message" }.map(\.payload.json)
            if found.count >= count { return found }
            try await Task.sleep(for: .milliseconds(10))
        }
        return []
    }

    /// The header lines of the server's requests by name.
    private func headers(_ name: String, of count: Int) async -> [String?] {
        await server.requests(count: count).filter { $0["path"] != nil }.map { request in
            request["headers"]?.arrayValue?.first { $0[0]?.stringValue?.lowercased() == name }?[1]?.stringValue
        }
    }

    @Test func eventsArrive() async throws {
        let call = connect([
            [.send(Self.head), .send("event: a\ndata: 1\nid: x\n\nda"), .wait(50), .send("ta: 2\n\n"), .stall]
        ])
        let handle = try await call.answer().json
        #expect(handle["id"] != nil)
        #expect(
            try await messages(call, 2) == [
                ["event": "a", "data": "1", "id": "x"], ["event": "message", "data": "2", "id": "x"],
            ])
        #expect(call.events.first?.name == "open" && call.events.first?.payload.json["reconnected"] == false)
        #expect(await headers("accept", of: 1) == ["text/event-stream"])
        #expect(await headers("cache-control", of: 1) == ["no-cache"])
        #expect(await headers("last-event-id", of: 1) == [nil])
        #expect(await headers("accept-encoding", of: 1) == [nil])
        _ = try await host.start("close", ["id": handle["id"] ?? ""]).answer()
        #expect(try await call.end().json == .null)
        // The connection went with the stream.
        #expect(await server.requests(count: 2).contains { $0["ended"] != nil })
    }

    @Test func itConnectsAgainWhereItWas() async throws {
        let call = connect(
            [
                [.send(Self.head + "retry: 100\nid: 7\ndata: 1\n\ndata: half")],
                [.send(Self.head + "data: 2\n\n"), .wait(20), .reset], [.reset],
                [.send(Self.head + "id\ndata: 3\n\n")], [.send(Self.head + "data: 4\n\n"), .stall],
            ])
        #expect(try await messages(call, 4).map { $0["data"] } == ["1", "2", "3", "4"])
        #expect(try await messages(call, 4).map { $0["id"] } == ["7", "7", "", ""])
        #expect(await headers("last-event-id", of: 5) == [nil, "7", "7", "7", nil])
        let opens = call.events.filter { $0.name == "open" }.map { $0.payload.json["reconnected"] }
        #expect(opens == [false, true, true, true])
        let losses = call.events.filter { $0.name == "reconnecting" }.map(\.payload.json)
        #expect(losses.map { $0["delayMs"] } == [100, 100, 200, 100])
        #expect(losses.map { $0["code"]?.stringValue } == [nil, "sse.connection_lost", "sse.connection_lost", nil])
        call.cancel()
    }

    @Test func noContentEndsIt() async throws {
        let call = connect([
            [.send(Self.head + "retry: 100\ndata: 1\n\n")],
            [.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")],
        ])
        _ = try await call.answer()
        #expect(try await call.end().json == .null)
        let never = connect([[.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")]])
        #expect(try await never.end().json == .null)
        #expect(await server.requests(count: 3).count == 3)
    }

    @Test(arguments: [205, 210, 299, 404, 410, 503]) func statusErrors(_ status: Int) async throws {
        let bad = "HTTP/1.1 \(status) Other\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: x\n\n"
        let first = await failure { try await connect([[.send(bad)]]).answer() }
        #expect(first?.code == "sse.http_status" && first?.details["status"] == .int(Int64(status)))
        // Later, too.
        let call = connect([[.send(Self.head + "retry:100\ndata: 1\n\n")], [.send(bad)]])
        _ = try await call.answer()
        #expect(await failure { try await call.end() }?.code == "sse.http_status")
    }

    @Test(arguments: [
        ("text/event-stream;", true), ("text/event-stream;charset=windows-1252", true), ("TEXT/Event-Stream", true),
        ("text/event-stream bogus", false), ("bogus; text/event-stream", false), ("text/plain", false), ("", false),
    ]) func types(_ type: String, _ isOne: Bool) async throws {
        let call = connect([[.send("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\r\ndata: ok…\n\n"), .stall]])
        if isOne {
            #expect(try await messages(call, 1).first?["data"] == "ok…")
        } else {
            #expect(await failure { try await call.answer() }?.code == "sse.not_a_stream")
        }
        call.cancel()
    }

    @Test(arguments: [301, 302, 303, 307]) func redirects(_ status: Int) async throws {
        let target = WebServer.play([.send(Self.head + "data: there\n\n"), .stall])
        let move = "HTTP/1.1 \(status) Moved\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n"
        let call = connect([[.send(move)]])
        #expect(try await messages(call, 1).first?["data"] == "there")
        #expect(call.events.first?.payload.json["url"] == .string(server.url(target)))
        call.cancel()
    }

    @Test func aFirstConnectionThatFailsIsAnError() async throws {
        #expect(await failure { try await connect([[.reset]]).answer() }?.code == "sse.connection_lost")
        #expect(await failure { try await start("http://nowhere.invalid/").answer() }?.code == "sse.dns_failed")
        for (arguments, path) in [
            (["headers": ["Last-Event-ID": "1"]], "headers"), (["lastEventId": "a\nb"], "lastEventId"),
            (["headers": ["Accept": "a\nb"]], "headers.Accept"), (["method": "TRACE"], "method"),
        ] as [(JSON, String)] {
            let error = await failure { try await connect([[.send(Self.head)]], arguments).answer() }
            #expect(error?.code == "host.invalid_argument" && error?.details["path"] == .string(path))
        }
        let file = await failure { try await start("file:///etc/passwd").answer() }
        #expect(file?.code == "host.invalid_argument")
    }

    @Test func aPostIsNotSentAgainUnlessWanted() async throws {
        let plans: [[WebServer.Step]] = [[.send(Self.head + "retry: 100\ndata: 1\n\n")]]
        let call = connect(plans, ["method": "POST", "json": ["stream": true], "lastEventId": "3"])
        #expect(try await messages(call, 1).count == 1)
        #expect(try await call.end().json == .null)
        #expect(await headers("last-event-id", of: 1) == ["3"])
        let again = connect(plans, ["method": "POST", "text": "", "reconnect": true])
        #expect(try await messages(again, 2).count == 2)
        again.cancel()
        let once = connect([[.send(Self.head + "data: 1\n\n"), .wait(50), .reset]], ["reconnect": false])
        _ = try await once.answer()
        #expect(await failure { try await once.end() }?.code == "sse.connection_lost")
    }

    @Test func silenceCountsAsLoss() async throws {
        let call = connect(
            [[.send(Self.head + "data: 1\n\n"), .stall], [.send(Self.head + "data: 2\n\n"), .stall]],
            ["silenceMs": 1000, "retryMs": 100])
        #expect(try await messages(call, 2).count == 2)
        let loss = call.events.first { $0.name == "reconnecting" }?.payload.json
        #expect(loss?["code"] == "sse.timed_out")
        call.cancel()
    }

    @Test func aSlowProjectStopsTheReading() async throws {
        let call = start(server.url("/flood?n=100000"), ["reconnect": false])
        call.setHold(true)
        _ = try await call.answer()
        let note = await server.requests(count: 2).last
        // What the kernel and libcurl hold, of a hundred megabytes.
        #expect((note?["stopped"]?.intValue ?? .max) < 20_000, "\(note?.text ?? "nothing")")
        #expect(call.events.count < 10)
        call.setHold(false)
        call.resume()
        for _ in 0..<10 where !call.hasEnded { call.resume() }
        let all = try await messages(call, 200)
        #expect(all.prefix(200).map { $0["id"]?.stringValue } == (0..<200).map { String($0) })
        call.cancel()
    }

    @Test func closingWhatIsNotThere() async throws {
        #expect(try await host.start("close", ["id": "99"]).answer().json == ["closed": false])
        let call = connect([[.send(Self.head), .stall]])
        let id = try await call.answer().json["id"] ?? .null
        #expect(try await host.start("close", ["id": id]).answer().json == ["closed": true])
        #expect(try await host.start("close", ["id": id]).answer().json == ["closed": false])
        _ = try await call.end()
    }

    @Test func whileItWaitsToConnectAgainItCanBeClosed() async throws {
        let call = connect([[.send(Self.head + "retry: 3600000\ndata: 1\n\n")]])
        let id = try await call.answer().json["id"] ?? .null
        _ = try await call.events(count: 3)
        #expect(try await host.start("close", ["id": id]).answer().json == ["closed": true])
        #expect(try await call.end().json == .null)
    }
}
