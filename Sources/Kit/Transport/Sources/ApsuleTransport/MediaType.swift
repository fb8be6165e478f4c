/// What a `Content-Type` says of a body.
///
/// Source: <https://mimesniff.spec.whatwg.org/#parsing-a-mime-type>
public struct MediaType: Sendable {
    /// `application/json`, in lower case; empty where there is none.
    public let essence: String
    public let charset: String?

    public init(_ header: String?) {
        // Of several lines the last counts.
        let parts = (header?.split(separator: ",").last ?? "").split(separator: ";")
        essence = (parts.first.map(Self.trimmed) ?? "").lowercased()
        charset =
            parts.dropFirst().lazy.compactMap { part -> String? in
                let halves = part.split(separator: "=", maxSplits: 1).map(Self.trimmed)
                guard halves.count == 2, halves[0].lowercased() == "charset" else { return nil }
                return halves[1].trimming("\"")
            }.first
    }

    public var isJSON: Bool {
        essence == "application/json" || essence == "text/json" || essence.hasSuffix("+json")
    }

    public var isText: Bool {
        essence.hasPrefix("text/") || essence.hasSuffix("+xml")
            || [
                "application/xml", "application/javascript", "application/ecmascript",
                "application/x-www-form-urlencoded",
                "application/x-ndjson", "application/yaml",
            ].contains(essence)
    }

    private static func trimmed(_ text: Substring) -> String { String(text).trimming(" \t") }
}

extension String {
    fileprivate func trimming(_ characters: String) -> String {
        var rest = self[...]
        while let first = rest.first, characters.contains(first) { rest.removeFirst() }
        while let last = rest.last, characters.contains(last) { rest.removeLast() }
        return String(rest)
    }
}
