import ApsuleKit
import TestHost
import TestWeb
import Testing
import TransferPlugin

@Suite struct DownloadTests {
    let server: WebServer
    let host: TestHost

    init() throws {
        server = try WebServer()
        host = try TestHost("transfer", TransferPlugin.entry)
    }

    private func start(_ path: String, _ arguments: JSON = .object([])) -> TestCall {
        let url = JSON.string(server.url(path))
        return host.stream(
            "download", .object([.init("url", url), .init("path", "file.bin")] + (arguments.members ?? [])))
    }

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251) } }

    @Test func aFileArrivesWhole() async throws {
        let call = start("/bytes?n=3000000&slow=10")
        #expect(try await call.answer().json["id"] != nil)
        let end = try await call.end().json
        #expect(end["bytes"] == 3_000_000 && end["path"] == "file.bin" && end["status"] == 200 && end["resumed"] == 0)
        #expect(host.project.read("file.bin") == bytes(3_000_000))
        let events = call.events
        #expect(events.first?.name == "start" && events.last?.name == "complete")
        #expect(events.first?.payload.json["total"] == 3_000_000)
        #expect(events.last?.payload.json == end)
        let progress = events.filter { $0.name == "progress" }.compactMap { $0.payload.json["bytes"]?.intValue }
        // 46 pieces in half a second or more.
        #expect(!progress.isEmpty && progress == progress.sorted() && progress.count < 40)
    }

    @Test func anEmptyFile() async throws {
        #expect(try await start("/bytes?n=0").end().json["bytes"] == 0)
        #expect(host.project.read("file.bin") == [])
    }

    @Test func aLostConnectionIsResumed() async throws {
        let call = start("/bytes?n=1000000&cut=300000")
        let end = try await call.end().json
        #expect(end["bytes"] == 1_000_000 && end["resumed"] == 1 && end["status"] == 206)
        #expect(host.project.read("file.bin") == bytes(1_000_000))
        let resuming = call.events.first { $0.name == "resuming" }?.payload.json
        // A reset takes along what the kernel held.
        let lost = resuming?["bytes"]?.intValue ?? 0
        #expect(resuming?["code"] == "transfer.connection_lost" && 1...300_000 ~= lost)
        let asked = await server.requests(count: 2).map { request in
            request["headers"]?.arrayValue?.first { $0[0] == "Range" }?[1]?.stringValue
        }
        #expect(asked == [nil, "bytes=\(lost)-"])
    }

    @Test func whatCannotBeResumedFails() async throws {
        let lost = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
        #expect(
            await failure { try await start(WebServer.rounds([[.send(lost)]])).end() }?.code
                == "transfer.connection_lost")
        let never = await failure { try await start("/bytes?n=1000&cut=3", ["retries": 0]).end() }
        #expect(never?.code == "transfer.connection_lost")
        #expect(try host.project.names == [])
    }

    @Test func aFileThatChangedMeanwhileBeginsAnew() async throws {
        let old = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 100\r\n\r\nold"
        let new = "HTTP/1.1 200 OK\r\nETag: \"2\"\r\nContent-Length: 3\r\n\r\nnew"
        let call = start(WebServer.rounds([[.send(old)], [.send(new)]]))
        #expect(try await call.end().json["bytes"] == 3)
        #expect(host.project.read("file.bin") == Array("new".utf8))
    }

    @Test(arguments: [
        "Content-Range: bytes 2-9/10", "Content-Range: bytes 4-9/10", "Content-Range: bytes */10", "X: y",
        "Content-Range: bytes 3-9/10\r\nETag: \"2\"",
    ]) func anotherPartIsRefused(_ line: String) async throws {
        let first = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 10\r\n\r\n012"
        let rest = "HTTP/1.1 206 Partial Content\r\n\(line)\r\nContent-Length: 7\r\n\r\n3456789"
        let error = await failure { try await start(WebServer.rounds([[.send(first)], [.send(rest)]])).end() }
        #expect(error?.code == "transfer.changed")
        #expect(try host.project.names == [])
    }

    @Test func badAnswers() async throws {
        let missing = await failure { try await start("/nowhere").end() }
        #expect(missing?.code == "transfer.http_status" && missing?.details["status"] == 404)
        #expect(await failure { try await start("/loop").end() }?.code == "transfer.too_many_redirects")
        let stalled = start(WebServer.play([.stall]), ["stallTimeoutMs": 1000, "retries": 0])
        #expect(await failure { try await stalled.end() }?.code == "transfer.timed_out")
        #expect(try host.project.names == [])
    }

    @Test func whatIsThereIsReplacedOrKept() async throws {
        try host.project.write("file.bin", Array("mine".utf8))
        let kept = await failure { try await start("/bytes?n=3", ["overwrite": false]).end() }
        #expect(kept?.code == "transfer.already_exists")
        #expect(host.project.read("file.bin") == Array("mine".utf8))
        #expect(await failure { try await start("/nowhere").end() } != nil)
        #expect(host.project.read("file.bin") == Array("mine".utf8))
        _ = try await start("/bytes?n=3").end()
        #expect(host.project.read("file.bin") == bytes(3))
    }

    @Test(arguments: [
        ("../out", "transfer.outside_sandbox"), ("/tmp/out", "transfer.outside_sandbox"),
        ("", "transfer.not_permitted"),
        ("no/folder", "transfer.not_found"), (String(repeating: "x", count: 256), "transfer.name_too_long"),
    ]) func badPlaces(_ path: String, _ code: String) async throws {
        let call = host.stream("download", ["url": .string(server.url("/bytes?n=3")), "path": .string(path)])
        #expect(await failure { try await call.answer() }?.code == code)
        #expect(server.requests.isEmpty)
    }

    @Test func aRangeOfTheCallersIsRefused() async throws {
        let error = await failure { try await start("/bytes?n=3", ["headers": ["range": "bytes=1-"]]).answer() }
        #expect(error?.code == "host.invalid_argument")
    }

    @Test func cancelledByItsID() async throws {
        let call = start("/bytes?n=100000000&slow=20")
        let id = try await call.answer().json["id"] ?? .null
        _ = try await call.events(count: 2)
        #expect(try await host.start("cancel", ["id": id]).answer().json == ["cancelled": true])
        #expect(await failure { try await call.end() }?.code == "host.cancelled")
        #expect(call.events.last?.name == "cancelled")
        #expect(try await host.start("cancel", ["id": id]).answer().json == ["cancelled": false])
        #expect(try host.project.names == [])
    }

    @Test func cancelledByItsCaller() async throws {
        let call = start("/bytes?n=100000000&slow=20")
        _ = try await call.events(count: 2)
        call.cancel()
        #expect(await failure { try await call.end() }?.code == "host.cancelled")
        #expect(try host.project.names == [])
    }

    @Test func closingLeavesNothing() async throws {
        let call = start("/bytes?n=100000000&slow=20")
        _ = try await call.events(count: 2)
        host.close()
        #expect(call.hasEnded)
        #expect(try host.project.names == [])
    }
}
