import ApsuleKit
import ApsuleTransport

extension CookiesFamily {
    /// The cookies that are kept.
    ///
    /// - Parameter arguments: {url?, domain?, name?: text}
    /// - Returns: [{name, value, domain, hostOnly, path, expires (ms or null), secure, httpOnly, sameSite}]
    func list(_ call: Call) throws -> JSON {
        let filter = try CookieFilter(call.arguments)
        return .array(jar.list(where: filter.fits).map(\.json))
    }

    /// Sets a cookie as an answer of the URL would.
    ///
    /// - Parameter arguments: {url, name, value, domain?, path, maxAge? (s), secure, httpOnly, sameSite?}
    /// - Throws: `cookies.refused`.
    func set(_ call: Call) throws -> JSON {
        let url = try WebURL(call["url"], schemes: CookieFilter.schemes)
        let cookie = CookieSetting(
            name: try call["name"], value: try call["value"], domain: try call["domain"], path: try call["path"] ?? "/",
            maxAge: try call["maxAge"], isSecure: try call["secure"] ?? false,
            isHTTPOnly: try call["httpOnly"] ?? false,
            sameSite: try call["sameSite"])
        guard cookie.isOneValue else {
            throw HostError.invalidArgument(
                "value", expected: "text without control characters, semicolons and space around it",
                got: "one with them")
        }
        guard jar.set(cookie, for: url) else {
            let reason = "\(url.host) may not have such a cookie."
            throw HostError("cookies.refused", reason, details: ["reason": .string(reason)])
        }
        return .null
    }

    /// Removes the cookies of a name.
    ///
    /// - Parameter arguments: {name, url?, domain?, path?: text}
    /// - Returns: how many there were.
    func delete(_ call: Call) throws -> JSON {
        let filter = try CookieFilter(call.arguments)
        return .int(Int64(jar.remove(where: filter.fits)))
    }

    /// Removes all cookies.
    ///
    /// - Returns: how many there were.
    func clear(_ call: Call) throws -> JSON { .int(Int64(jar.remove())) }
}

/// Which cookies are meant.
struct CookieFilter {
    static let schemes = ["https", "http", "wss", "ws"]

    private let url: WebURL?
    private let domain: String?
    private let name: String?
    private let path: String?

    init(_ arguments: Arguments) throws(HostError) {
        let text: String? = try arguments["url"]
        if let text { url = try WebURL(text, schemes: Self.schemes) } else { url = nil }
        domain = try arguments["domain"]
        name = try arguments["name"]
        path = try arguments["path"]
    }

    func fits(_ cookie: Cookie) -> Bool {
        (url.map(cookie.matches) ?? true) && (domain.map { cookie.domain == $0.lowercased() } ?? true)
            && (name.map { cookie.name == $0 } ?? true) && (path.map { cookie.path == $0 } ?? true)
    }
}
