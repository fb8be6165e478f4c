import ApsuleKit
import Synchronization
import Testing

@testable import ApsuleTransport

/// The jar's rules.
///
/// Source: <https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis>
@Suite struct CookieJarTests {
    /// A clock that the test moves; milliseconds.
    private final class Clock: Sendable {
        private let time = Mutex<Int64>(1_800_000_000_000)
        var now: Int64 { time.withLock { $0 } }
        func advance(seconds: Int64) { time.withLock { $0 += seconds * 1000 } }
    }

    private let clock = Clock()
    private let jar: CookieJar

    init() {
        let clock = clock
        jar = CookieJar { clock.now }
    }

    private func url(_ text: String) throws -> WebURL { try WebURL(text, schemes: ["http", "https"]) }

    private func sent(_ to: String) throws -> String? { jar.header(for: try url(to)) }

    @Test(arguments: [
        ("a=b", "a=b"), (" a = b ", "a=b"), ("a=b=c", "a=b=c"), ("a=", "a="), ("=b", "b"), ("b", "b"),
        ("a=b; unknown; other=1", "a=b"), ("a=\"b c\"", "a=\"b c\""), ("a=b;;;", "a=b"), ("a=b, c=d", "a=b, c=d"),
        ("a=ä", "a=ä"), ("a=b; Domain=", "a=b"), ("a=b; Path=nowhere", "a=b"), ("a=b; Expires=never", "a=b"),
        ("a=b\tc", "a=b\tc"), ("a=b; Max-Age=1x", "a=b"), ("a=b; Max-Age", "a=b"),
    ])
    func lines(_ line: String, _ header: String) throws {
        #expect(jar.store(line, from: try url("http://a.example/")))
        #expect(try sent("http://a.example/") == header)
    }

    @Test(arguments: [
        "", "=", " ; ", "a=b\u{0}", "a=b\nc", "a\u{7f}=b", "a=b; Domain=other.example", "a=b; Domain=com",
        "a=b; Domain=sub.a.example", "a=b; Domain=xa.example", "a=b; Secure", "__Secure-a=b", "__Host-a=b; Path=/",
        "__host-a=b; Secure; Path=/", "=__Secure-a=b", "a=" + String(repeating: "b", count: 4096),
    ])
    func linesThatAreRefused(_ line: String) throws {
        #expect(!jar.store(line, from: try url("http://a.example/")))
        #expect(try sent("https://a.example/") == nil)
    }

    @Test func prefixesKeptTheirPromise() throws {
        let secure = try url("https://a.example/deep/")
        #expect(jar.store("__Host-a=b; Secure; Path=/", from: secure))
        #expect(!jar.store("__Host-c=d; Secure; Path=/; Domain=a.example", from: secure))
        #expect(!jar.store("__Host-c=d; Secure", from: secure))
        #expect(jar.store("__Secure-e=f; Secure", from: secure))
        #expect(try sent("https://a.example/deep/") == "__Secure-e=f; __Host-a=b")
    }

    @Test(
        arguments: [
            ("a.example", "http://a.example/", true), ("a.example", "http://x.a.example/", true),
            (".A.Example", "http://x.y.a.example/", true), ("a.example", "http://xa.example/", false),
            (nil, "http://x.a.example/", false), (nil, "http://A.EXAMPLE/", true),
            ("a.example", "http://example/", false),
        ] as [(String?, String, Bool)])
    func domains(_ domain: String?, _ to: String, _ isSent: Bool) throws {
        #expect(jar.store("a=b" + (domain.map { "; Domain=\($0)" } ?? ""), from: try url("http://a.example/")))
        #expect(try (sent(to) != nil) == isSent)
    }

    @Test func publicSuffixes() throws {
        for (host, domain) in [("a.co.uk", "co.uk"), ("a.github.io", "github.io"), ("a.com", "com")] {
            #expect(!jar.store("a=b; Domain=\(domain)", from: try url("http://\(host)/")), "\(domain)")
        }
        #expect(jar.store("a=b; Domain=github.io", from: try url("http://github.io/")))
        #expect(try sent("http://x.github.io/") == nil)
        #expect(try sent("http://github.io/") == "a=b")
    }

    @Test(arguments: ["http://127.0.0.1/", "http://[::1]/"])
    func addressesAreHostsAlone(_ address: String) throws {
        #expect(!jar.store("a=b; Domain=0.0.1", from: try url(address)))
        let host = try url(address).host
        #expect(jar.store("a=b", from: try url(address)))
        #expect(jar.list().allSatisfy { $0.isHostOnly && $0.domain == host })
        #expect(try sent(address) == "a=b")
    }

    @Test(arguments: [
        ("/", "/any/thing", true), ("/a", "/a", true), ("/a", "/a/b", true), ("/a/", "/a/b", true),
        ("/a", "/ab", false),
        ("/a/", "/a", false), ("/a", "/b", false), ("/A", "/a", false),
    ])
    func paths(_ path: String, _ to: String, _ isSent: Bool) throws {
        #expect(jar.store("a=b; Path=\(path)", from: try url("http://a.example/other")))
        #expect(try (sent("http://a.example\(to)") != nil) == isSent)
    }

    @Test func defaultPaths() throws {
        for (at, path) in [("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b?c=/d/e", "/a")] {
            #expect(Cookie.defaultPath(of: try url("http://a.example\(at)")) == path)
        }
    }

    @Test func longerPathsComeFirst() throws {
        let deep = try url("http://a.example/x/y/z")
        jar.store("a=1; Path=/", from: deep)
        jar.store("b=2; Path=/x", from: deep)
        jar.store("c=3; Path=/", from: deep)
        jar.store("a=4; Path=/", from: deep)
        #expect(try sent("http://a.example/x/y/z") == "b=2; a=4; c=3")
    }

    @Test func expiry() throws {
        let from = try url("http://a.example/")
        jar.store("a=1; Max-Age=10", from: from)
        jar.store("b=2; Expires=Thu, 01 Jan 1970 00:00:01 GMT", from: from)
        jar.store("c=3; Max-Age=5; Expires=Thu, 01 Jan 1970 00:00:01 GMT", from: from)
        jar.store("d=4; Max-Age=0", from: from)
        jar.store("e=5; Max-Age=99999999999999999999", from: from)
        #expect(try sent("http://a.example/") == "a=1; c=3; e=5")
        clock.advance(seconds: 6)
        #expect(try sent("http://a.example/") == "a=1; e=5")
        jar.store("a=; Max-Age=-1", from: from)
        #expect(try sent("http://a.example/") == "e=5")
        clock.advance(seconds: 401 * 86_400)
        #expect(try sent("http://a.example/") == nil)
    }

    @Test(
        arguments: [
            ("Wed, 09 Jun 2027 10:18:14 GMT", 1_812_536_294), ("Wednesday, 09-Jun-27 10:18:14 GMT", 1_812_536_294),
            ("Wed Jun  9 10:18:14 2027", 1_812_536_294), ("9 jun 27 10:18:14", 1_812_536_294),
            ("10:18:14 2027 June 9", 1_812_536_294), ("1 Jan 1970 0:0:0", 0), ("31 Dec 69 23:59:59", 3_155_759_999),
            ("1 Jan 70 00:00:00", 0), ("9 Jun 2027 10:18:14abc", 1_812_536_294),
            ("30 Feb 2027 10:18:14", nil), ("9 Jun 1600 10:18:14", nil), ("9 Jun 2027 24:00:00", nil),
            ("9 Jun 2027", nil), ("", nil), ("9 Jun 2027 10:18", nil), ("32 Jun 2027 10:18:14", nil),
            ("9 Jux 2027 10:18:14", nil), ("9 Jun 2027 010:18:14", nil),
        ] as [(String, Int64?)])
    func dates(_ text: String, _ seconds: Int64?) {
        #expect(CookieDate.milliseconds(text) == seconds.map { $0 * 1000 })
    }

    @Test func insecureAnswersDoNotReplaceSecureCookies() throws {
        #expect(jar.store("a=1; Secure; Domain=a.example", from: try url("https://a.example/")))
        #expect(!jar.store("a=2; Domain=a.example", from: try url("http://a.example/")))
        #expect(!jar.store("a=2", from: try url("http://x.a.example/deep/")))
        #expect(jar.store("b=2", from: try url("http://a.example/")))
        #expect(try sent("https://a.example/") == "a=1; b=2")
        #expect(try sent("http://a.example/") == "b=2")
    }

    @Test func sameSiteIsShown() throws {
        let from = try url("https://a.example/")
        for (name, value) in [("a", "Strict"), ("b", "LAX"), ("c", "none"), ("d", "odd")] {
            jar.store("\(name)=1; SameSite=\(value)", from: from)
        }
        #expect(jar.list().map(\.sameSite) == [.strict, .lax, Cookie.SameSite.none, nil])
    }

    @Test func thereIsRoomForNewOnes() throws {
        let from = try url("http://a.example/")
        for index in 0..<300 { jar.store("n\(index)=1", from: from) }
        #expect(jar.list().count == 180)
        #expect(jar.list().last?.name == "n299")
        for index in 0..<3100 { jar.store("n=1", from: try url("http://h\(index).example/")) }
        #expect(jar.list().count == 3000)
    }
}
