import ApsuleKit
import Glibc
import TestHost
import TestWeb
import Testing

/// What goes wrong on the way.
@Suite struct FaultTests {
    let web: Web
    init() throws { web = try Web() }

    @Test(
        arguments: [
            ([.reset], "http.connection_lost"),
            ([.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .reset], "http.connection_lost"),
            ([.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")], "http.connection_lost"),
            ([.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")], "http.connection_lost"),
            ([.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n")], "http.connection_lost"),
            (
                [.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello")],
                "http.invalid_response"
            ),
            ([.send("220 mail.example SMTP\r\n")], "http.invalid_response"),
            ([.send("")], "http.connection_lost"),
        ] as [([WebServer.Step], String)])
    func badAnswers(_ steps: [WebServer.Step], _ code: String) async throws {
        let error = await failure { try await web.request(WebServer.play(steps)) }
        #expect(error?.code == code, "\(error?.message ?? "it succeeded")")
        // The next one is none the worse.
        #expect(try await web.request("/echo")["status"] == 200)
    }

    @Test(arguments: [("expired", "expired"), ("otherHost", "another host"), ("selfSigned", "itself")])
    func certificates(_ certificate: String, _ reason: String) async throws {
        let url = web.server.secureURL("/echo", certificate: certificate)
        let error = await failure { try await web.request(url) }
        #expect(
            error?.code == "http.certificate_invalid" && error?.message.contains(reason) == true,
            "\(error?.message ?? "")")
        #expect(web.server.requests.isEmpty)
    }

    @Test func theOwnersAuthorityIsTrustedAndNoOther() async throws {
        #expect(try await web.request(web.server.secureURL("/echo"))["status"] == 200)
        let stranger = try Web(trusts: false)
        let error = await failure { try await stranger.request(stranger.server.secureURL("/echo")) }
        #expect(error?.code == "http.certificate_invalid" && error?.message.contains("trusts") == true)
    }

    @Test func noServer() async throws {
        let free = try freePort()
        let refused = await failure { try await web.request("http://127.0.0.1:\(free)/") }
        #expect(refused?.code == "http.connect_failed" && refused?.message.contains("Connection refused") == true)
        let unknown = await failure { try await web.request("http://nowhere.invalid/") }
        #expect(unknown?.code == "http.dns_failed")
        let plain = await failure { try await web.request(web.server.url("/").replacing("http:", with: "https:")) }
        #expect(plain?.code == "http.tls_failed")
    }

    @Test func cancelledInTheMiddle() async throws {
        let path = WebServer.play([.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .stall])
        let call = web.host.start("request", ["url": .string(web.server.url(path))])
        try await Task.sleep(for: .milliseconds(200))
        call.cancel()
        let error = await failure { try await call.answer() }
        #expect(error?.code == "host.cancelled")
        // The server sees its connection go.
        #expect(await web.server.requests(count: 2).contains { $0["ended"] != nil })
    }

    @Test func closingEndsWhatRuns() async throws {
        let call = web.host.start("request", ["url": .string(web.server.url(WebServer.play([.stall])))])
        try await Task.sleep(for: .milliseconds(200))
        web.host.close()
        #expect(call.hasEnded)
    }

    @Test func manyAtOnce() async throws {
        let count = 200
        let sizes = try await withThrowingTaskGroup(of: JSON?.self) { group in
            for index in 0..<count { group.addTask { try await web.request("/bytes?n=\(index * 100)")["size"] } }
            return try await group.reduce(into: [JSON?]()) { $0.append($1) }
        }
        #expect(Set(sizes.compactMap { $0?.intValue }) == Set((0..<count).map { Int64($0 * 100) }))
    }

    /// A port that nobody listens at.
    private func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(descriptor, generic, size) == 0, getsockname(descriptor, generic, &size) == 0 else {
                    return nil
                }
                return pointer.pointee.sin_port.bigEndian
            }
        }
        return try #require(port)
    }
}
