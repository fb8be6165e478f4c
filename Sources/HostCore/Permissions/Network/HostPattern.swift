/// An entry of a network scope, or the place that a call wants to reach: a host, perhaps with its scheme and port.
///
/// Entries are `example.com`, `*.example.com` (what is below it), `example.com:8443`, `https://example.com` (port 443),
/// `192.168.1.5`, `[fd00::5]`. Without a scheme every one is meant, without scheme and port every port.
///
/// What two programs might read in two ways is no place at all: a backslash, a second `@`, a zone, a host that ends in a
/// number and is no address.
struct HostPattern: Sendable, Hashable {
    enum Host: Sendable, Hashable {
        case name(String)
        case address(NetworkAddress)
    }

    let scheme: String?
    let host: Host
    /// Every host below the name is meant, and not the name itself.
    let isWildcard: Bool
    let port: Int?

    /// An entry of a scope.
    init?(entry: String) { self.init(entry, isEntry: true) }

    /// A place: `example.com`, `example.com:443`, or a URL, whose origin it is.
    init?(place: String) { self.init(place, isEntry: false) }

    /// Reads either.
    ///
    /// Sources: <https://www.rfc-editor.org/rfc/rfc3986#section-3>, <https://url.spec.whatwg.org/#concept-host-parser>
    private init?(_ text: String, isEntry: Bool) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "\\") }) else { return nil }
        var rest = Substring(text)
        var scheme: String?
        if let colon = rest.firstRange(of: "://") {
            let name = rest[..<colon.lowerBound].lowercased()
            guard Self.isScheme(name) else { return nil }
            scheme = name
            rest = rest[colon.upperBound...]
            let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
            // An entry is an origin; a path behind it would be a promise that nobody keeps.
            if isEntry, rest[end...].utf8.count > 1 || rest[end...].contains(where: { $0 != "/" }) { return nil }
            rest = rest[..<end]
            if !isEntry, let at = rest.firstIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        }
        guard let (host, port) = Self.split(rest) else { return nil }
        let isWildcard = isEntry && host.hasPrefix("*.")
        guard let host = Self.host(isWildcard ? host.dropFirst(2) : host) else { return nil }
        if isWildcard, case .address = host { return nil }
        self.scheme = scheme
        self.host = host
        self.isWildcard = isWildcard
        self.port = port ?? scheme.flatMap { Self.ports[$0] }
    }

    private static func isScheme(_ name: String) -> Bool {
        guard let first = name.utf8.first, first &- UInt8(ascii: "a") < 26 else { return false }
        return name.utf8.allSatisfy { $0.isLetterOrDigit || "+-.".utf8.contains($0) }
    }

    private static func split(_ text: Substring) -> (Substring, Int?)? {
        let afterLiteral = text.hasPrefix("[") ? text.firstIndex(of: "]") : text.startIndex
        guard let start = afterLiteral, let colon = text[start...].firstIndex(of: ":") else { return (text, nil) }
        let digits = text[text.index(after: colon)...]
        if digits.isEmpty { return (text[..<colon], nil) }
        guard digits.utf8.count <= 5, digits.utf8.allSatisfy(isDigit), let port = Int(digits), port <= 65_535 else {
            return nil
        }
        return (text[..<colon], port)
    }

    private static func host(_ text: Substring) -> Host? {
        if text.hasPrefix("[") {
            guard text.hasSuffix("]") else { return nil }
            return NetworkAddress(v6: String(text.dropFirst().dropLast())).map { .address($0) }
        }
        guard var name = decoded(text) else { return nil }
        // With the root's dot or without it is one host.
        if name.hasSuffix(".") { name.removeLast() }
        if NetworkAddress.looksLikeV4(name) { return NetworkAddress(v4: name).map { .address($0) } }
        return HostName.canonical(name).map { .name($0) }
    }

    /// Percent-encoded bytes in their place; nil for what is no UTF-8 then.
    private static func decoded(_ text: Substring) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.prefix(2).count == 2, rest.prefix(2).allSatisfy(isHexadecimal),
                let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static let ports = ["http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21]

    // MARK: - What it covers

    /// Whether all that `other` means is meant here, too.
    func covers(_ other: HostPattern) -> Bool {
        guard scheme == nil || scheme == other.scheme, port == nil || port == other.port else { return false }
        switch (host, other.host) {
        case (.address(let mine), .address(let theirs)): return mine == theirs
        case (.name(let mine), .name(let theirs)):
            guard isWildcard else { return !other.isWildcard && mine == theirs }
            return theirs.hasSuffix("." + mine) || other.isWildcard && mine == theirs
        default: return false
        }
    }

    /// Where it leads: names below `localhost` are this machine's, others are judged by what they resolve to.
    var kind: NetworkAddress.Kind {
        switch host {
        case .address(let address): address.kind
        case .name(let name): name == "localhost" || name.hasSuffix(".localhost") ? .loopback : .global
        }
    }

    /// Scheme, host and port, as the audit shows it and as an entry may be written.
    var text: String {
        var text = scheme.map { "\($0)://" } ?? ""
        switch host {
        case .name(let name): text += (isWildcard ? "*." : "") + name
        case .address(let address): text += address.isV4 ? address.text : "[\(address.text)]"
        }
        if let port { text += ":\(port)" }
        return text
    }
}
