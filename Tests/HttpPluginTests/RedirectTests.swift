import ApsuleKit
import TestHost
import TestWeb
import Testing

/// Redirects: what is sent on, and what is not.
@Suite struct RedirectTests {
    let web: Web
    init() throws { web = try Web() }

    private func redirect(to target: String, _ status: Int = 302) -> String {
        let encoded = target.replacing("%", with: "%25").replacing("&", with: "%26").replacing("#", with: "%23")
        return "/redirect?status=\(status)&to=\(encoded)"
    }

    @Test(arguments: [
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"), (302, "PUT", "PUT"),
        (301, "DELETE", "DELETE"), (307, "POST", "POST"), (308, "POST", "POST"), (303, "GET", "GET"),
    ])
    func methodAndBody(_ status: Int, _ method: String, _ then: String) async throws {
        let body: JSON = method == "GET" ? .null : "the body"
        let arguments: JSON = ["method": .string(method), "text": body]
        let answer = try await web.request(redirect(to: "/echo", status), arguments)
        let echo = Echo(json: answer["body"] ?? .null)
        #expect(echo.method == then && answer["redirected"] == true)
        #expect(answer["url"] == .string(web.server.url("/echo")))
        #expect(echo.body == (then == "GET" ? "" : "the body"))
        #expect((echo.header("content-type") == nil) == (then == "GET"))
    }

    @Test func filesAreSentAgain() async throws {
        try web.host.project.write("a.bin", [UInt8](repeating: 7, count: 100_000))
        let answer = try await web.request(redirect(to: "/echo", 307), ["method": "PUT", "file": "a.bin"])
        #expect(Echo(json: answer["body"] ?? .null).header("content-length") == "100000")
    }

    @Test func limits() async throws {
        let error = await failure { try await web.request("/loop") }
        #expect(error?.code == "http.too_many_redirects" && error?.details["limit"] == 10)
        #expect(await web.server.requests(count: 11).count == 11)
        let answer = try await web.request(redirect(to: "/echo"), ["maxRedirects": 0])
        #expect(answer["status"] == 302 && answer["headers"]?["location"] == "/echo" && answer["redirected"] == false)
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "javascript:alert(1)", "http://"])
    func onlyToTheWeb(_ target: String) async throws {
        let error = await failure { try await web.request(redirect(to: target)) }
        #expect(error?.code == "http.invalid_redirect")
    }

    @Test func credentialsStayWithTheirOrigin() async throws {
        let headers: JSON = [
            "Authorization": "Bearer a", "Cookie": "c=1", "X-Api-Key": "k", "Private-Token": "t", "X-Plain": "p",
        ]
        let same = try await web.request(redirect(to: "/echo"), ["headers": headers])
        let kept = Echo(json: same["body"] ?? .null)
        #expect(kept.header("authorization") == "Bearer a" && kept.header("x-api-key") == "k")
        let other = web.server.url("/echo", host: "localhost")
        let there = try await web.request(redirect(to: other), ["headers": headers])
        let dropped = Echo(json: there["body"] ?? .null)
        #expect(dropped.header("x-plain") == "p")
        for name in ["authorization", "cookie", "x-api-key", "private-token"] {
            #expect(dropped.header(name) == nil, "\(name) was told to another origin")
        }
        let secure = try await web.request(
            redirect(to: web.server.secureURL("/echo", host: "127.0.0.1")), ["headers": headers])
        #expect(Echo(json: secure["body"] ?? .null).header("authorization") == nil)
    }

    @Test func credentialsInALocationAreDropped() async throws {
        let target = web.server.url("/echo", host: "user:word@127.0.0.1")
        let answer = try await web.request(redirect(to: target))
        #expect(Echo(json: answer["body"] ?? .null).header("authorization") == nil)
        #expect(answer["url"] == .string(web.server.url("/echo")))
    }

    @Test func everyHopIsAskedAbout() async throws {
        let asked = Asked()
        web.host.setAllows { scope, value in
            asked.note(value)
            return scope == "hosts" && !value.contains("localhost")
        }
        let error = await failure { try await web.request(redirect(to: web.server.url("/echo", host: "localhost"))) }
        #expect(error?.code == "permission.denied")
        #expect(await web.server.requests(count: 1).count == 1)
        #expect(asked.values.contains { $0.hasSuffix(" 127.0.0.1") })
    }

    @Test func everyAddressIsAskedAbout() async throws {
        web.host.setAllows { _, value in !value.hasSuffix(" 127.0.0.1") && !value.hasSuffix(" ::1") }
        let error = await failure { try await web.request("/echo") }
        #expect(error?.code == "permission.denied" && error?.details["address"] == "127.0.0.1")
        let named = await failure { try await web.request(web.server.url("/echo", host: "localhost")) }
        #expect(named?.code == "permission.denied")
        #expect(web.server.requests.isEmpty)
        // A connection that was allowed once does not carry what is not allowed any more.
        web.host.setAllows { _, _ in true }
        _ = try await web.request("/echo")
        web.host.setAllows { _, value in !value.hasSuffix(" 127.0.0.1") }
        let reused = await failure { try await web.request("/echo") }
        #expect(reused?.code == "permission.denied")
        #expect(await web.server.requests(count: 1).count == 1)
    }
}
