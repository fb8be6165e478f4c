import ApsuleKit
import Testing

@testable import ApsuleTransport

@Suite struct WebURLTests {
    private func url(_ text: String) -> WebURL? { try? WebURL(text, schemes: ["http", "https", "ws", "wss"]) }

    @Test(arguments: [
        ("HTTP://Example.COM", "http://example.com:80", "/"),
        ("https://example.com:8443/a?b#c", "https://example.com:8443", "/a"),
        ("http://example.com/a/../b/./c", "http://example.com:80", "/b/c"),
        ("http://bücher.example/", "http://xn--bcher-kva.example:80", "/"),
        ("http://0x7f.1/", "http://127.0.0.1:80", "/"), ("http://2130706433/", "http://127.0.0.1:80", "/"),
        ("http://017700000001/", "http://127.0.0.1:80", "/"), ("http://[::1]:99/", "http://[::1]:99", "/"),
        ("wss://example.com/chat", "wss://example.com:443", "/chat"),
        ("http://ex%41mple.com/", "http://example.com:80", "/"),
    ])
    func readAsItIsConnectedTo(_ text: String, _ origin: String, _ path: String) throws {
        let url = try #require(self.url(text))
        #expect(url.origin == origin && url.path == path)
        #expect(!url.text.contains("#"))
    }

    @Test(arguments: [
        "", "example.com", "http:/", "http://", "ftp://a/", "http://a b/", "http://a\\@b/", "http://a\u{0}b/",
        "http://[::1/",
        "http://a:99999/", "http://a:b/", "http://u:p@a/", "http://u@a/", "http://a/\r\nX: y",
    ])
    func refused(_ text: String) { #expect(url(text) == nil) }

    @Test func references() throws {
        let base = try #require(url("http://a.example/x/y?q"))
        for (reference, result) in [
            ("/z", "http://a.example/z"), ("z", "http://a.example/x/z"), ("?r", "http://a.example/x/y?r"),
            ("//b.example/", "http://b.example/"), ("https://u:p@c.example/#f", "https://c.example/"),
            ("/a b", "http://a.example/a%20b"), ("/ü", "http://a.example/%c3%bc"),
        ] {
            #expect(base.resolving(reference, schemes: ["http", "https"])?.text == result)
        }
        #expect(base.resolving("file:///x", schemes: ["http", "https"]) == nil)
    }

    @Test func proxies() throws {
        let environment = [
            "http_proxy": "http://p:1", "HTTP_PROXY": "http://evil:1", "all_proxy": "http://all:1",
            "no_proxy": "localhost,.intern.example, 10.0.0.1,b.example:81",
        ]
        let proxies = Proxies { environment[$0] }
        func proxy(_ text: String) throws -> String? { proxies.proxy(for: try #require(url(text))) }
        #expect(try proxy("http://a.example/") == "http://p:1")
        #expect(try proxy("https://a.example/") == "http://all:1")
        #expect(try proxy("http://localhost/") == nil)
        #expect(try proxy("http://x.intern.example/") == nil)
        #expect(try proxy("http://10.0.0.1:8080/") == nil)
        #expect(try proxy("http://b.example/") == "http://p:1")
        #expect(try proxy("http://b.example:81/") == nil)
        #expect(
            Proxies { ["HTTP_PROXY": "http://evil:1"][$0] }.proxy(for: try #require(url("http://a.example/"))) == nil)
    }
}
