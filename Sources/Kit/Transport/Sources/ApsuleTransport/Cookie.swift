public import ApsuleKit

/// A cookie as the jar keeps it.
public struct Cookie: Sendable, Hashable {
    public enum SameSite: String, Sendable, CaseIterable, ArgumentValue { case strict, lax, none }

    public let name: String
    public let value: String
    /// Without a dot in front.
    public let domain: String
    /// Whether only the host that set it gets it, and no host below.
    public let isHostOnly: Bool
    public let path: String
    /// Milliseconds of the wall clock; nil until the project stops.
    public let expires: Int64?
    public let isSecure: Bool
    public let isHTTPOnly: Bool
    /// As the server wrote it; the jar of a project has no sites that this could keep apart.
    public let sameSite: SameSite?

    /// What makes two cookies the same one.
    struct Identity: Hashable {
        let name: String
        let domain: String
        let isHostOnly: Bool
        let path: String
    }

    var identity: Identity { Identity(name: name, domain: domain, isHostOnly: isHostOnly, path: path) }

    /// Whether a request to a URL carries it.
    ///
    /// Source: <https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.8.3>
    public func matches(_ url: WebURL) -> Bool {
        guard !isSecure || url.isSecure else { return false }
        guard isHostOnly ? url.host == domain : Self.domain(domain, covers: url) else { return false }
        return Self.path(path, covers: url.path)
    }

    static func domain(_ domain: String, covers url: WebURL) -> Bool {
        url.host == domain || !url.isAddress && url.host.hasSuffix("." + domain)
    }

    static func path(_ path: String, covers other: String) -> Bool {
        guard other.utf8.starts(with: path.utf8) else { return false }
        let rest = other.utf8.dropFirst(path.utf8.count)
        return rest.isEmpty || path.hasSuffix("/") || rest.first == UInt8(ascii: "/")
    }

    /// The path that a cookie without one has.
    static func defaultPath(of url: WebURL) -> String {
        guard url.path.hasPrefix("/"), let slash = url.path.lastIndex(of: "/"), slash != url.path.startIndex else {
            return "/"
        }
        return String(url.path[..<slash])
    }

    public var json: JSON {
        [
            "name": .string(name), "value": .string(value), "domain": .string(domain), "hostOnly": .bool(isHostOnly),
            "path": .string(path), "expires": expires.map { .int($0) } ?? .null, "secure": .bool(isSecure),
            "httpOnly": .bool(isHTTPOnly), "sameSite": sameSite.map { .string($0.rawValue) } ?? .null,
        ]
    }
}

/// A cookie that is to be set.
public struct CookieSetting: Sendable {
    let name: String
    let value: String
    let domain: String?
    let path: String
    let maxAge: Int64?
    let isSecure: Bool
    let isHTTPOnly: Bool
    let sameSite: Cookie.SameSite?

    /// - Parameter maxAge: seconds; nil until the project stops.
    public init(
        name: String, value: String, domain: String? = nil, path: String = "/", maxAge: Int? = nil,
        isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: Cookie.SameSite? = nil
    ) {
        (self.name, self.value, self.domain, self.path) = (name, value, domain, path)
        (self.isSecure, self.isHTTPOnly, self.sameSite) = (isSecure, isHTTPOnly, sameSite)
        self.maxAge = maxAge.map(Int64.init)
    }

    /// Whether it is a name and a value, and not a header of more than them.
    public var isOneValue: Bool {
        let isOneLine = (name + value + path).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ";") }
        return isOneLine && !value.hasPrefix(" ") && !value.hasSuffix(" ")
    }

    func said(now: Int64) -> SetCookie { SetCookie(self, now: now) }
}
