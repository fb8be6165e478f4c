import ApsuleKit
import Foundation
import TestHost
import TestWeb
import Testing

/// What a request sends, as a server sees it.
@Suite struct RequestTests {
    let web: Web
    init() throws { web = try Web() }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
    func anyMethod(_ method: String) async throws {
        #expect(try await web.echo(["method": .string(method)]).method == method)
    }

    @Test func headHasNoBody() async throws {
        let answer = try await web.request("/echo", ["method": "HEAD"])
        #expect(answer["status"] == 200 && answer["size"] == 0)
    }

    @Test func usualMethodsAreWrittenInCapitals() async throws {
        #expect(try await web.echo(["method": "delete"]).method == "DELETE")
    }

    @Test(arguments: ["CONNECT", "trace", "TRACK", "GET /x HTTP/1.1\r\nX: y", "A B", ""])
    func whatIsNoMethodIsRefused(_ method: String) async throws {
        let error = await failure { try await web.echo(["method": .string(method)]) }
        #expect(error?.code == "host.invalid_argument" && error?.details["path"] == "method")
        #expect(web.server.requests.isEmpty)
    }

    @Test func headersArriveAsGiven() async throws {
        let echo = try await web.echo(["headers": ["X-One": "1", "X-Empty": "", "Accept": "text/plain"]])
        #expect(echo.header("x-one") == "1" && echo.header("x-empty") == "" && echo.header("accept") == "text/plain")
        #expect(echo.header("user-agent") == "Apsule")
    }

    @Test(
        arguments: [
            ["X": "a\r\nY: b"], ["X": "a\nb"], ["X": "a\u{0}b"], ["X\r\nY": "a"], ["X Y": "a"], ["": "a"], ["X:": "a"],
            ["Host": "other"], ["content-length": "3"], ["Transfer-Encoding": "chunked"], ["Connection": "close"],
            ["Proxy-Authorization": "x"], ["X": 1], ["a": "1", "A": "2"],
        ] as [JSON])
    func whatWouldBeAnotherHeaderIsRefused(_ headers: JSON) async throws {
        let error = await failure { try await web.echo(["headers": headers]) }
        #expect(error?.code == "host.invalid_argument")
        #expect(web.server.requests.isEmpty)
    }

    @Test func queryIsAddedAndEncoded() async throws {
        let answer = try await web.message(
            "/echo?a=1", ["query": ["b c": "ä&=", "n": 2, "list": ["x", true], "plus": "+"]])
        #expect(
            Echo(json: answer.json["body"] ?? .null).query == "a=1&b%20c=%c3%a4%26%3d&n=2&list=x&list=true&plus=%2b")
    }

    @Test func bodiesHaveTheirTypes() async throws {
        let json = try await web.echo(["method": "POST", "json": ["$a": [1, .null, 9_007_199_254_740_993]]])
        #expect(json.header("content-type") == "application/json")
        let none = try await web.echo(["method": "POST", "json": .null])
        #expect(none.body == "null")
        let text = try await web.echo(["method": "PUT", "text": "grüß"])
        #expect(text.body == "grüß" && text.header("content-type") == "text/plain;charset=UTF-8")
        let bytes = try await web.echo(["method": "PATCH", "base64": ["$blob": 0]], blobs: [[0, 1, 255]])
        #expect(bytes.json["body"] == "AAH/" && bytes.header("content-type") == "application/octet-stream")
        let own = try await web.echo(["method": "POST", "text": "a=b", "headers": ["content-type": "text/x-own"]])
        #expect(own.header("content-type") == "text/x-own")
        let empty = try await web.echo(["method": "POST"])
        #expect(empty.header("content-length") == "0" && empty.header("content-type") == nil)
    }

    @Test func aBodyMayComeWithAnyMethod() async throws {
        let echo = try await web.echo(["method": "GET", "text": "question"])
        #expect(echo.method == "GET" && echo.body == "question")
        let error = await failure { try await web.echo(["method": "HEAD", "text": "a"]) }
        #expect(error?.code == "host.invalid_argument")
        let two = await failure { try await web.echo(["method": "POST", "text": "a", "json": 1]) }
        #expect(two?.code == "host.invalid_argument")
    }

    @Test func filesAreSentAsTheyAre() async throws {
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try web.host.project.write("big.bin", bytes)
        let echo = try await web.echo(["method": "POST", "file": "big.bin"])
        #expect(Base64.decode(echo.json["body"]?.stringValue ?? "") == bytes)
        #expect(echo.header("content-length") == "300000")
    }

    @Test(arguments: [("nothing", "http.not_found"), ("../x", "http.outside_sandbox"), (".", "http.not_a_file")])
    func whatIsNoFileIsNotSent(_ path: String, _ code: String) async throws {
        let error = await failure { try await web.echo(["method": "POST", "file": .string(path)]) }
        #expect(error?.code == code)
        #expect(web.server.requests.isEmpty)
    }

    @Test func formsAreMultipart() async throws {
        try web.host.project.write("a.txt", Array("contents".utf8))
        let echo = try await web.echo([
            "method": "POST",
            "multipart": [
                ["name": "field", "text": "va\r\nlue"],
                ["name": "odd\"name\r\nX: y", "base64": "AAEC", "fileName": "quo\"te\r\n.bin", "contentType": "x/y"],
                ["name": "file", "file": "a.txt"],
            ],
        ])
        let type = try #require(echo.header("content-type"))
        #expect(type.hasPrefix("multipart/form-data; boundary="))
        let boundary = try #require(type.components(separatedBy: "boundary=").last)
        let parts = echo.body.components(separatedBy: "--" + boundary)
        #expect(parts.count == 5)
        #expect(parts[1].hasSuffix("name=\"field\"\r\n\r\nva\r\nlue\r\n"))
        #expect(parts[2].contains("name=\"odd%22name%0D%0AX: y\"; filename=\"quo%22te%0D%0A.bin\""))
        #expect(parts[2].contains("Content-Type: x/y"))
        #expect(parts[3].contains("filename=\"a.txt\"") && parts[3].hasSuffix("\r\n\r\ncontents\r\n"))
    }

    @Test(
        arguments: [
            ["name": "a"], ["name": "a", "text": "x", "base64": "AA=="],
            ["name": "a", "text": "x", "contentType": "a/b\r\nX: y"], ["name": "a\u{0}b", "text": ""],
        ] as [JSON])
    func whatIsNoPartIsRefused(_ part: JSON) async throws {
        let error = await failure { try await web.echo(["method": "POST", "multipart": [part]]) }
        #expect(error?.code == "host.invalid_argument")
        #expect(error?.details["path"]?.stringValue?.hasPrefix("multipart[0]") == true)
    }

    @Test(arguments: [
        "ftp://example.com/", "file:///etc/passwd", "/relative", "http://", "http://user:secret@example.com/",
        "https://us%65r@example.com/", "http://exa mple.com/", "http://a\\b/", "javascript:alert(1)",
    ])
    func whatIsNoWebURLIsRefused(_ url: String) async throws {
        let error = await failure { try await web.host.call("request", ["url": .string(url)]) }
        #expect(error?.code == "host.invalid_argument" && error?.details["path"] == "url")
        #expect(error?.message.contains("secret") == false)
    }
}
