import ApsuleKit
import Testing

@testable import HostCore

/// Which hosts a network scope lets through, in every spelling.
@Suite struct HostScopeTests {
    private func allows(_ value: String, _ entries: [String]?, isLocal: Bool = false) -> Bool {
        HostScope.refusal(value, allowed: entries, isLocal: isLocal) == nil
    }

    @Test(arguments: [
        ("example.com", "https://example.com/a?b#c", true), ("example.com", "http://example.com:8080", true),
        ("example.com", "EXAMPLE.com.", true), ("example.com", "https://ex%61mple.com", true),
        ("example.com", "https://a.example.com", false), ("example.com", "https://example.com.evil.org", false),
        ("example.com", "https://notexample.com", false), ("example.com", "https://example.co", false),
        ("example.com", "https://user:secret@example.com", true),
        ("example.com", "https://example.com@evil.org", false), ("example.com", "https://evil.org/@example.com", false),
        ("example.com", "https://evil.org#@example.com", false),
        ("example.com", "https://evil.org?@example.com", false),
        ("*.example.com", "https://a.example.com", true), ("*.example.com", "https://b.a.example.com", true),
        ("*.example.com", "https://example.com", false), ("*.example.com", "https://aexample.com", false),
        ("https://example.com", "https://example.com", true), ("https://example.com", "https://example.com:443/", true),
        ("https://example.com", "https://example.com:8443", false),
        ("https://example.com", "http://example.com", false),
        ("https://example.com", "example.com", false), ("https://example.com/", "https://example.com/x", true),
        ("wss://*.example.com:9000", "wss://a.example.com:9000", true),
        ("example.com:8443", "https://example.com:8443", true), ("example.com:8443", "example.com:8443", true),
        ("example.com:8443", "https://example.com", false), ("example.com:443", "https://example.com", true),
        ("bücher.example", "https://xn--bcher-kva.example", true),
        ("xn--bcher-kva.example", "https://BÜCHER.example", true),
        ("*.例え.jp", "https://www.xn--r8jz45g.jp", true), ("faß.de", "https://xn--fa-hia.de", true),
        ("fass.de", "https://faß.de", false),
        ("93.184.216.34", "http://93.184.216.34", true), ("93.184.216.34", "http://1572395042", true),
        ("93.184.216.34", "http://0x5db8d822/", true), ("93.184.216.34", "http://0135.0270.0330.042", true),
        ("93.184.216.34", "http://93.12113954", true), ("93.184.216.34", "http://[::ffff:93.184.216.34]", true),
        ("[2606:2800:220:1::1]", "https://[2606:2800:0220:0001:0:0:0:1]", true),
        ("[2606:2800:220:1::1]:80", "http://[2606:2800:220:1::1]", true),
    ])
    func entriesCoverWhatTheySay(entry: String, value: String, isAllowed: Bool) {
        #expect(allows(value, [entry]) == isAllowed)
    }

    /// What two programs could read in two ways is refused, whatever is allowed.
    @Test(arguments: [
        "https://example.com\\@evil.org", "https://evil.org\\.example.com", "https://a@b@example.com", "https://",
        "https:///x", "", " ", "https://exam ple.com", "https://example.com\t", "https://example.com\n.evil.org",
        "https://[::1%25eth0]", "https://[fe80::1%eth0]", "https://[::1", "https://::1", "https://[1.2.3.4]",
        "https://example.com:99999", "https://example.com:8o", "https://example.com:-1", "https://exa%00mple.com",
        "https://example%2ecom%2f.evil.org", "https://ex%6", "https://a..example.com", "https://.example.com",
        "https://1.2.3.4.5", "https://256.1.1.1", "https://1.2.3.08", "https://example.0x", "https://foo.123",
        "https://４.４.４.４", "https://ｅxample.com", "https://exam\u{ad}ple.com", "https://exa\u{200d}mple.com",
        "https://example。com", "https://straẞe.de", "https://*.example.com", "https://ex*mple.com", "1http://x",
        "https://\(String(repeating: "a", count: 64)).com",
        "https://\(String(repeating: "a.", count: 130))com",
    ])
    func whatIsAmbiguousIsRefused(value: String) {
        #expect(!allows(value, nil))
        #expect(!allows(value, ["example.com", "*.example.com", "evil.org", "1.2.3.4", "4.4.4.4"]))
    }

    /// Addresses that lead to this device or a private network, in all their disguises.
    static let inside = [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "127.255.255.254", "0.0.0.0", "0",
        "localhost", "LOCALHOST.", "a.localhost", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "[fe80::1]", "[fd00::1]", "[fc00::1]", "[ff02::1]",
        "[64:ff9b::a00:1]", "[::10.0.0.1]", "[2001::1]", "[100::1]", "%31%32%37.0.0.1", "3232235777",
    ]

    @Test(arguments: inside) func privatePlacesNeedAnEntryOfTheirOwn(host: String) throws {
        #expect(!allows("http://\(host)/", nil))
        #expect(!allows("http://\(host)/", ["example.com", "*.localhost", "*.com"]))
        let place = try #require(HostPattern(place: host))
        #expect(allows("http://\(host)/", [place.text]))
        #expect(allows("http://\(host):8080/", ["http://\(place.text):8080"]))
        #expect(!allows("http://\(host):8081/", ["http://\(place.text):8080"]))
    }

    @Test(arguments: inside) func noNameLeadsInside(host: String) throws {
        guard case .address(let address)? = HostPattern(place: host)?.host else { return }
        // Declared and approved, and then its owner lets it resolve to an address within.
        #expect(!allows("https://evil.org \(address.text)", ["evil.org"]))
        #expect(!allows("https://evil.org \(address.text)", nil))
        let entry = HostPattern(place: host)?.text ?? ""
        #expect(allows("https://evil.org \(address.text)", ["evil.org", entry]))
        #expect(!allows("https://evil.org \(address.text)", ["evil.org", "http://\(entry)"]))
        // An entry for the address is none for the name.
        #expect(!allows("https://evil.org \(address.text)", [entry]))
    }

    @Test func resolvedAddressesAreAddresses() {
        #expect(allows("https://example.com 93.184.216.34", ["example.com"]))
        #expect(allows("https://example.com 2606:2800:220:1::1", ["example.com"]))
        #expect(!allows("https://example.com example.org", ["example.com", "example.org"]))
        #expect(!allows("https://example.com 93.184.216.34 10.0.0.1", ["example.com"]))
        #expect(allows("http://localhost 127.0.0.1", ["localhost"]))
        #expect(allows("http://localhost ::1", ["localhost"]))
        #expect(!allows("http://localhost 192.168.0.1", ["localhost"]))
    }

    /// The permission for the local network is for what is there, but not for this device.
    @Test func theLocalNetworkIsForWhatIsThere() {
        #expect(allows("192.168.1.5:80", nil, isLocal: true))
        #expect(allows("[fe80::1]", nil, isLocal: true))
        #expect(!allows("127.0.0.1", nil, isLocal: true))
        #expect(!allows("nas.local 127.0.0.1", nil, isLocal: true))
        #expect(!allows("192.168.1.6", ["192.168.1.5"], isLocal: true))
    }

    @Test(arguments: [
        "93.184.216.34", "8.8.8.8", "172.32.0.1", "100.128.0.1", "[2606:2800:220:1::1]", "[64:ff9b::808:808]",
    ])
    func theInternetNeedsNoEntry(host: String) { #expect(allows("http://\(host)/", nil)) }

    /// The samples of RFC 3492, section 7.1.
    @Test(arguments: [
        ("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"), ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
        ("Pročprostěnemluvíčesky", "Proprostnemluvesky-uyb24dma41a"), ("3年B組金八先生", "3B-ww4c5e180e575a65lsy2b"),
        ("パフィーdeルンバ", "de-jg4avhby1noc0d"), ("そのスピードで", "d9juau41awczczp"), ("bücher", "bcher-kva"),
    ])
    func punycodeIsTheStandards(text: String, encoded: String) {
        #expect(Punycode.encode(Array(text.unicodeScalars)) == encoded)
    }
}
