public import ApsuleKit

/// One header line of a request or an answer.
public struct HTTPHeader: Sendable, Hashable {
    public let name: String
    public let value: String

    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

    var lowercasedName: String { name.lowercased() }

    /// Reads `{name: value}`.
    ///
    /// - Throws: `host.invalid_argument` with the header's path for what would be another header or none: a name that is no
    ///   token, a value with a line break or a control character, and those that the connection needs for itself.
    /// - Source: <https://www.rfc-editor.org/rfc/rfc9110#name-fields>
    public static func list(_ arguments: Arguments) throws(HostError) -> [HTTPHeader] {
        guard arguments.json != .null else { return [] }
        guard case .object(let members) = try arguments.data() else { throw arguments.mismatch("object of texts") }
        var headers: [HTTPHeader] = []
        var names: Set<String> = []
        for member in members {
            let at = "\(arguments.path).\(member.key)"
            guard isToken(member.key) else {
                throw .invalidArgument(at, expected: "a header name", got: JSON.string(member.key).summary)
            }
            let name = member.key.lowercased()
            if reserved.contains(name) || name.hasPrefix("proxy-") {
                throw .invalidArgument(at, expected: "a header that is not the connection's own", got: member.key)
            }
            guard names.insert(name).inserted else {
                throw .invalidArgument(at, expected: "each header once", got: "it again")
            }
            guard let value = member.value.stringValue, isValue(value) else {
                let got = member.value.stringValue == nil ? member.value.summary : "a control character in it"
                throw .invalidArgument(at, expected: "text in one line", got: got)
            }
            headers.append(HTTPHeader(member.key, value))
        }
        return headers
    }

    /// Whether a header's name is one that carries a secret, as those of many services are: `X-Api-Key`, `Private-Token`.
    ///
    /// Such a header goes to the origin that it was meant for and nowhere else.
    public var isCredential: Bool {
        let name = lowercasedName
        return Self.credentialParts.contains { name.contains($0) }
    }

    private static let credentialParts = [
        "auth", "token", "key", "secret", "cookie", "session", "credential", "password", "passwd", "signature", "csrf",
        "xsrf", "bearer", "jwt", "access", "identity", "ticket", "apikey", "account",
    ]

    /// What the library writes itself, and what would send a request elsewhere than its URL says.
    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
        "http2-settings", "via",
    ]

    /// Whether a text is what HTTP calls a token.
    ///
    /// Source: <https://www.rfc-editor.org/rfc/rfc9110#name-tokens>
    public static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    public static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }
}

/// The status line and headers of an answer.
public struct HTTPHead: Sendable {
    public let status: Int
    /// `1.1`, `2`.
    public let version: String
    public let headers: [HTTPHeader]

    public var isSuccess: Bool { 200..<300 ~= status }

    /// The value of a header, the lines of which are joined as RFC 9110 says; nil where there is none.
    public subscript(name: String) -> String? {
        let values = headers.filter { $0.lowercasedName == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The headers by their names in lower case, without `set-cookie`, whose lines cannot be joined.
    public var fields: JSON {
        var members: [JSON.Member] = []
        for header in headers where header.lowercasedName != "set-cookie" {
            if let index = members.firstIndex(where: { $0.key == header.lowercasedName }) {
                let before = members[index].value.stringValue ?? ""
                members[index] = .init(header.lowercasedName, .string("\(before), \(header.value)"))
            } else {
                members.append(.init(header.lowercasedName, .string(header.value)))
            }
        }
        return .object(members)
    }

    public var setCookies: [String] { headers.filter { $0.lowercasedName == "set-cookie" }.map(\.value) }
}
