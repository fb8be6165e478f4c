import ApsuleKit
import TestHost
import TestWeb
import Testing

/// `downloadTo`: the whole body or nothing.
@Suite struct DownloadTests {
    let web: Web
    init() throws { web = try Web() }

    @Test func bodyBecomesAFile() async throws {
        let answer = try await web.request("/bytes?n=1000000", ["downloadTo": "big.bin"])
        #expect(answer["type"] == "file" && answer["body"] == "big.bin" && answer["size"] == 1_000_000)
        #expect(web.host.project.read("big.bin") == (0..<1_000_000).map { UInt8($0 % 251) })
        // It has no limit of memory's.
        let small = try await web.request("/bytes?n=1000", ["downloadTo": "a", "maxBytes": 10])
        #expect(small["size"] == 1000)
    }

    @Test func otherAnswersAreReturned() async throws {
        try web.host.project.write("old", [1])
        let answer = try await web.request("/status/404", ["downloadTo": "old"])
        #expect(answer["type"] == "text" && answer["body"] == "the status" && web.host.project.read("old") == [1])
    }

    @Test func aBrokenDownloadLeavesNothing() async throws {
        try web.host.project.write("old", [1])
        let error = await failure { try await web.request("/bytes?n=1000000&cut=500000", ["downloadTo": "old"]) }
        #expect(error?.code == "http.connection_lost")
        #expect(web.host.project.read("old") == [1])
        #expect(try web.host.project.names == ["old"])
    }

    @Test(arguments: [
        ("../x", "http.outside_sandbox"), ("no/folder", "http.not_found"), ("..", "http.not_permitted"),
        (String(repeating: "a", count: 256), "http.name_too_long"),
    ])
    func placesThatCannotBe(_ path: String, _ code: String) async throws {
        let error = await failure { try await web.request("/bytes?n=10", ["downloadTo": .string(path)]) }
        #expect(error?.code == code)
        #expect(try web.host.project.names.isEmpty)
    }

    @Test func emptyFile() async throws {
        let answer = try await web.request("/bytes?n=0", ["downloadTo": "empty"])
        #expect(answer["type"] == "file" && web.host.project.read("empty") == [])
    }
}
