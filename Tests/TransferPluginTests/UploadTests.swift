import ApsuleKit
import TestHost
import TestWeb
import Testing
import TransferPlugin

@Suite struct UploadTests {
    let server: WebServer
    let host: TestHost

    init() throws {
        server = try WebServer()
        host = try TestHost("transfer", TransferPlugin.entry)
        try host.project.write("file.bin", [UInt8](repeating: 7, count: 3_000_000))
    }

    private func start(_ path: String, _ arguments: JSON = .object([])) -> TestCall {
        let url = JSON.string(server.url(path))
        return host.stream(
            "upload", .object([.init("url", url), .init("path", "file.bin")] + (arguments.members ?? [])))
    }

    private func header(_ answer: JSON, _ name: String) -> String? {
        answer["body"]?["headers"]?.arrayValue?.first { $0[0]?.stringValue?.lowercased() == name }?[1]?.stringValue
    }

    private func body(_ answer: JSON) -> [UInt8] {
        Base64.decode(answer["body"]?["body"]?.stringValue ?? "") ?? []
    }

    @Test func aFileIsTheBody() async throws {
        let call = start("/echo", ["method": "PUT", "contentType": "image/png"])
        #expect(try await call.answer().json["id"] != nil)
        let end = try await call.end().json
        #expect(end["status"] == 200 && end["body"]?["method"] == "PUT")
        #expect(header(end, "content-type") == "image/png" && header(end, "content-length") == "3000000")
        #expect(body(end) == [UInt8](repeating: 7, count: 3_000_000))
        #expect(call.events.first?.name == "start" && call.events.last?.name == "complete")
        #expect(call.events.first?.payload.json["total"] == 3_000_000)
        #expect(call.events.last?.payload.json == end)
    }

    @Test func aFileInAForm() async throws {
        try host.project.write("file.bin", Array("text".utf8))
        let fields: JSON = ["field": "photo", "fileName": "a\"b.png", "fields": ["title": "Grüße"]]
        let end = try await start("/echo", fields).end().json
        let text = String(decoding: body(end), as: UTF8.self)
        #expect(header(end, "content-type")?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(text.contains("name=\"title\"") && text.contains("Grüße"))
        #expect(text.contains("name=\"photo\"; filename=\"a%22b.png\"") && text.contains("\r\n\r\ntext\r\n"))
    }

    @Test func anEmptyFile() async throws {
        try host.project.write("file.bin", [])
        #expect(header(try await start("/echo").end().json, "content-length") == "0")
    }

    @Test func whatTheServerRefuses() async throws {
        let error = await failure { try await start("/nowhere").end() }
        #expect(error?.code == "transfer.http_status" && error?.details["status"] == 404)
        #expect(error?.details["body"]?.stringValue?.contains("no such place") == true)
    }

    @Test(
        arguments: [
            (["path": "nothing"], "transfer.not_found"), (["path": "."], "transfer.not_a_file"),
            (["path": "/etc/passwd"], "transfer.outside_sandbox"), (["fields": ["a": "b"]], "host.invalid_argument"),
            (["contentType": "a\r\nb: c"], "host.invalid_argument"),
            (["headers": ["a b": "c"]], "host.invalid_argument"),
        ] as [(JSON, String)]) func badArguments(_ arguments: JSON, _ code: String) async throws
    {
        var all: JSON = ["url": .string(server.url("/echo")), "path": "file.bin"]
        for member in arguments.members ?? [] { all.set(member.key, member.value) }
        let error = await failure { try await host.stream("upload", all).answer() }
        #expect(error?.code == code)
        #expect(server.requests.isEmpty)
    }

    @Test func progressIsTold() async throws {
        try host.project.write("file.bin", [UInt8](repeating: 1, count: 50_000_000))
        let call = start("/echo", ["maxBytes": 1, "responseType": "bytes"])
        // The answer is larger than was asked for.
        #expect(await failure { try await call.end() }?.code == "transfer.response_too_large")
        let progress = call.events.filter { $0.name == "progress" }.compactMap { $0.payload.json["bytes"]?.intValue }
        #expect(progress == progress.sorted() && progress.allSatisfy { $0 <= 50_000_000 })
    }

    @Test func aServerThatGoes() async throws {
        #expect(
            await failure { try await start(WebServer.play([.reset])).end() }?.code == "transfer.connection_lost")
    }
}
