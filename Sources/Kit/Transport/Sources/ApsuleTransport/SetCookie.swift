internal import ApsuleKit

/// What a `Set-Cookie` line says, before it is decided whether its sender may say so.
///
/// Source: <https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.6>
struct SetCookie: Hashable {
    var name: String
    var value: String
    var domain: String?
    var path: String?
    var expires: Int64?
    var isSecure = false
    var isHTTPOnly = false
    var sameSite: Cookie.SameSite?

    private static let greatestPair = 4096
    private static let greatestAttribute = 1024
    /// 400 days in milliseconds: no cookie is kept longer.
    private static let greatestAge: Int64 = 400 * 86_400_000

    /// - Parameter now: milliseconds of the wall clock.
    init?(_ line: String, now: Int64) {
        // Tab alone is let through: a line with other control characters would be another one elsewhere.
        guard line.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else { return nil }
        var parts = line.split(separator: ";", omittingEmptySubsequences: false)
        let pair = parts.removeFirst()
        if let equals = pair.firstIndex(of: "=") {
            name = Self.trim(pair[..<equals])
            value = Self.trim(pair[pair.index(after: equals)...])
        } else {
            (name, value) = ("", Self.trim(pair))
        }
        guard Self.isFit(name, value) else { return nil }
        var age: Int64?
        var date: Int64?
        for part in parts {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let text = halves.count > 1 ? Self.trim(halves[1]) : ""
            guard text.utf8.count <= Self.greatestAttribute else { continue }
            switch Self.trim(halves.first ?? "").lowercased() {
            case "expires": date = CookieDate.milliseconds(text) ?? date
            case "max-age": age = Self.seconds(text) ?? age
            case "domain": domain = Self.domain(text)
            case "path": path = text.hasPrefix("/") ? text : nil
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "samesite": sameSite = Cookie.SameSite(rawValue: text.lowercased())
            default: break
            }
        }
        let end = age.map { Self.end($0, now) } ?? date
        expires = end.map { min($0, now + Self.greatestAge) }
    }

    /// A cookie that the project sets itself.
    init(_ cookie: CookieSetting, now: Int64) {
        (name, value, domain, path) = (cookie.name, cookie.value, cookie.domain.flatMap(Self.domain), cookie.path)
        (isSecure, isHTTPOnly, sameSite) = (cookie.isSecure, cookie.isHTTPOnly, cookie.sameSite)
        expires = cookie.maxAge.map { Self.end($0, now) }
    }

    private static func end(_ age: Int64, _ now: Int64) -> Int64 {
        age <= 0 ? Int64.min : now + min(age, greatestAge / 1000) * 1000
    }

    private static func isFit(_ name: String, _ value: String) -> Bool {
        !(name.isEmpty && value.isEmpty) && name.utf8.count + value.utf8.count <= greatestPair
    }

    /// Whether its name promises no more than it keeps; one without a name could be read as such a promise, too.
    ///
    /// Source: <https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-4.1.3>
    var keepsPromise: Bool {
        let lowercased = (name.isEmpty ? value : name).lowercased()
        let isSecurePrefix = lowercased.hasPrefix("__secure-")
        let isHostPrefix = lowercased.hasPrefix("__host-")
        guard isSecurePrefix || isHostPrefix else { return true }
        guard !name.isEmpty, isSecure else { return false }
        return !isHostPrefix || domain == nil && path == "/"
    }

    private static func domain(_ text: String) -> String? {
        let text = text.hasPrefix(".") ? String(text.dropFirst()) : text
        return text.isEmpty ? nil : text.lowercased()
    }

    private static func seconds(_ text: String) -> Int64? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- 48 < 10 }) else { return nil }
        return Int64(text) ?? (text.hasPrefix("-") ? Int64.min : Int64.max)
    }

    private static func trim(_ text: Substring) -> String {
        var bytes = text.utf8
        while let byte = bytes.first, byte == 0x20 || byte == 0x09 { bytes.removeFirst() }
        while let byte = bytes.last, byte == 0x20 || byte == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
