public import ApsuleKit
internal import CCurl
internal import CIdn
internal import Glibc

/// An absolute URL as libcurl reads it, so that what is checked is what is connected to.
///
/// The host is in lower case and in ASCII (Punycode), an address in its usual spelling; the path has no dot segments; there
/// is no fragment and there are no credentials.
///
/// Source: <https://curl.se/libcurl/c/libcurl-url.html>
public struct WebURL: Sendable, Hashable {
    public let text: String
    public let scheme: String
    /// An IPv6 address stands in brackets.
    public let host: String
    public let port: Int
    /// From the first slash to the query.
    public let path: String
    /// Whether the text it was read from named a user or a password, which are dropped.
    let hadCredentials: Bool

    public var isSecure: Bool { scheme == "https" || scheme == "wss" }
    /// Scheme, host and port.
    public var origin: String { "\(scheme)://\(host):\(port)" }
    public var isAddress: Bool { host.hasPrefix("[") || host.utf8.last.map { $0 &- 48 < 10 } == true }

    /// Reads an argument.
    ///
    /// - Parameter schemes: those that are taken, `["https", "http"]`.
    /// - Throws: `host.invalid_argument` with `path` for what is no such URL and for one with a user or a password, which
    ///   would end up where URLs are shown.
    public init(_ text: String, schemes: [String], path: String = "url") throws(HostError) {
        guard let url = WebURL(parsing: text, schemes: schemes) else {
            throw .invalidArgument(
                path, expected: "an absolute URL with " + schemes.joined(separator: " or "),
                got: JSON.string(text).summary)
        }
        if url.hadCredentials {
            throw .invalidArgument(path, expected: "a URL without user and password", got: "one with them")
        }
        self = url
    }

    /// What a `Location` leads to.
    func resolving(_ reference: String, schemes: [String]) -> WebURL? {
        WebURL(parsing: reference, schemes: schemes, relativeTo: text)
    }

    private init?(parsing text: String, schemes: [String], relativeTo base: String? = nil) {
        guard !text.utf8.contains(0), let parts = URLParts(text, relativeTo: base) else { return nil }
        guard let scheme = parts[CURLUPART_SCHEME]?.lowercased(), schemes.contains(scheme),
            let host = parts[CURLUPART_HOST].flatMap(HostNames.ascii), !host.isEmpty,
            let port = parts[CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)].flatMap({ Int($0) }) ?? Self.ports[scheme]
        else { return nil }
        hadCredentials = parts[CURLUPART_USER] != nil || parts[CURLUPART_PASSWORD] != nil
        for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT] { parts.drop(part) }
        parts.set(CURLUPART_HOST, host)
        guard let whole = parts[CURLUPART_URL] else { return nil }
        (self.text, self.scheme, self.host, self.port) = (whole, scheme, host, port)
        path = parts[CURLUPART_PATH] ?? "/"
    }

    /// With further query parameters behind those that it has.
    public func adding(_ query: [(name: String, value: String)]) -> WebURL {
        guard !query.isEmpty, let parts = URLParts(text, relativeTo: nil) else { return self }
        let pairs = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
        let before = parts[CURLUPART_QUERY].map { $0.isEmpty ? $0 : $0 + "&" } ?? ""
        parts.set(CURLUPART_QUERY, before + pairs.joined(separator: "&"))
        return parts[CURLUPART_URL].flatMap { WebURL(parsing: $0, schemes: [scheme]) } ?? self
    }

    /// Everything but RFC 3986's unreserved characters as `%xx`.
    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            let isPlain = byte.isAlphanumeric || "-._~".utf8.contains(byte)
            bytes += isPlain ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let ports = ["ws": 80, "wss": 443]
}

/// Names of hosts in the letters of the DNS.
private enum HostNames {
    /// The name in lower case and Punycode, or nil for what is none.
    ///
    /// libcurl does the same by the locale, which says nothing of scripts.
    /// Source: <https://www.gnu.org/software/libidn/libidn2/manual/libidn2.html>
    static func ascii(_ host: String) -> String? {
        guard !host.utf8.allSatisfy({ $0 < 0x80 }) else { return host.lowercased() }
        var name: UnsafeMutablePointer<CChar>?
        let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        guard idn2_to_ascii_8z(host, &name, flags) == IDN2_OK.rawValue, let name else { return nil }
        defer { free(name) }
        return String(cString: name)
    }
}

extension UInt8 {
    var isAlphanumeric: Bool { self &- 48 < 10 || (self | 0x20) &- 97 < 26 }
}

/// The owner of a `CURLU`.
private final class URLParts {
    private let handle: OpaquePointer

    init?(_ text: String, relativeTo base: String?) {
        guard let handle = curl_url() else { return nil }
        self.handle = handle
        // Spaces and letters beyond ASCII are encoded, as browsers do; ws is a scheme that this curl may not speak.
        let flags = UInt32(CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME)
        if let base, curl_url_set(handle, CURLUPART_URL, base, flags) != CURLUE_OK { return nil }
        guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK else { return nil }
    }

    deinit { curl_url_cleanup(handle) }

    subscript(part: CURLUPart, flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    func set(_ part: CURLUPart, _ value: String) { curl_url_set(handle, part, value, 0) }
    func drop(_ part: CURLUPart) { curl_url_set(handle, part, nil, 0) }
}
