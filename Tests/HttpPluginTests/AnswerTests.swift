import ApsuleKit
import TestHost
import TestWeb
import Testing

/// What becomes of an answer.
@Suite struct AnswerTests {
    let web: Web
    init() throws { web = try Web() }

    @Test func everyStatusIsAnAnswer() async throws {
        for status in [201, 204, 304, 400, 404, 500, 599] {
            let answer = try await web.request("/status/\(status)")
            #expect(answer["status"] == .int(Int64(status)) && answer["ok"] == .bool(status < 300))
        }
    }

    @Test func automaticTypes() async throws {
        func kind(_ text: String, _ type: String) async throws -> (JSON?, JSON?) {
            let answer = try await web.request(path(content: text, type: type))
            return (answer["type"], answer["body"])
        }
        #expect(try await kind("{\"a\":[1]}", "application/json") == ("json", ["a": [1]]))
        #expect(
            try await kind("[9007199254740993]", "application/problem+json; x=y") == ("json", [9_007_199_254_740_993]))
        #expect(try await kind("{\"$blob\":0}", "application/json") == ("json", ["$$blob": 0]))
        #expect(try await kind("no JSON", "application/json") == ("text", "no JSON"))
        #expect(try await kind("<p>", "text/html") == ("text", "<p>"))
        let binary = try await web.message(path(content: [0, 255], type: "image/png"))
        #expect(binary.json["type"] == "bytes" && binary.json["body"] == ["$blob": 0] && binary.blobs == [[0, 255]])
    }

    @Test func typesAsAsked() async throws {
        let source = path(content: "[1]", type: "image/png")
        #expect(try await web.request(source, ["responseType": "json"])["body"] == [1])
        #expect(try await web.request(source, ["responseType": "text"])["body"] == "[1]")
        #expect(try await web.request(source, ["responseType": "base64"])["body"] == "WzFd")
        #expect(try await web.message(source, ["responseType": "bytes"]).blobs == [Array("[1]".utf8)])
        let error = await failure {
            try await web.request(path(content: "[1,", type: "application/json"), ["responseType": "json"])
        }
        #expect(error?.code == "http.not_json" && error?.details["status"] == 200 && error?.details["offset"] == 3)
    }

    @Test(
        arguments: [
            ([0xe4, 0x80], "text/plain; charset=ISO-8859-1", "ä€"),
            ([0xe4], "text/plain;charset=\"windows-1252\"", "ä"),
            ([0x83, 0x65], "text/plain; charset=shift_jis", "テ"), ([0x61, 0xff, 0x62], "text/plain", "a\u{fffd}b"),
            ([0xef, 0xbb, 0xbf, 0x61], "text/plain; charset=latin1", "a"), ([0xff, 0xfe, 0x61, 0], "text/plain", "a"),
            ([0x61], "text/plain; charset=no-such", "a"), ([0x61], "text/plain; charset=UTF-8//IGNORE", "a"),
        ] as [([UInt8], String, String)])
    func charsets(_ bytes: [UInt8], _ type: String, _ text: String) async throws {
        let answer = try await web.request(path(content: bytes, type: type.replacing(" ", with: "%20")))
        #expect(answer["body"] == .string(text))
    }

    @Test func headersByName() async throws {
        let head = "HTTP/1.1 200 Fine\r\nX-A: 1\r\nx-a: 2\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n$odd: 1\r\n\r\nbody"
        let answer = try await web.request(WebServer.play([.send(head)]), ["responseType": "text"])
        #expect(answer["headers"]?["x-a"] == "1, 2" && answer["headers"]?["$$odd"] == "1")
        #expect(answer["headers"]?["set-cookie"] == nil && answer["setCookies"] == ["a=b", "c=d"])
        #expect(answer["body"] == "body")
    }

    @Test func sizeIsCountedAfterDecoding() async throws {
        let answer = try await web.request("/gzip?n=100000")
        #expect(answer["size"] == 100_000)
        let error = await failure { try await web.request("/gzip?n=300000000", ["maxBytes": 1_000_000]) }
        #expect(error?.code == "http.response_too_large" && error?.details["limit"] == 1_000_000)
        let exact = try await web.request("/bytes?n=1000", ["maxBytes": 1000])
        #expect(exact["size"] == 1000)
        let over = await failure { try await web.request("/bytes?n=1001", ["maxBytes": 1000]) }
        #expect(over?.code == "http.response_too_large")
    }

    @Test func textThatDoesNotFitIsRefused() async throws {
        let error = await failure { try await web.request("/gzip?n=9000000", ["responseType": "text"]) }
        #expect(error?.code == "http.response_too_large")
        let bytes = try await web.message("/bytes?n=9000000", ["responseType": "bytes"])
        #expect(bytes.blobs.first?.count == 9_000_000)
    }

    @Test func compressionIsOfferedUnlessRefused() async throws {
        #expect(try await web.echo().header("accept-encoding")?.contains("gzip") == true)
        #expect(try await web.echo(["compressed": false]).header("accept-encoding") == nil)
    }
}
