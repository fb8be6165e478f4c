import ApsuleKit

/// How the entries of one scope are compared with values, and with each other.
struct ScopeMatch {
    private enum Kind { case equal, uuid, hosts }

    private let kind: Kind
    private let scope: String
    private let permission: String

    init(_ scope: String, of permission: String) {
        (self.scope, self.permission) = (scope, permission)
        kind =
            switch scope {
            case "services": .uuid
            case "hosts": .hosts
            default: .equal
            }
    }

    /// Why a value is outside, or nil where it is in the scope.
    ///
    /// - Parameter allowed: the entries; nil where the scope is not limited.
    func refusal(_ value: String, allowed: [String]?) -> String? {
        if kind == .hosts {
            return HostScope.refusal(value, allowed: allowed, isLocal: permission == "localNetwork")
        }
        guard let allowed, !allowed.contains(where: { covers($0, value) }) else { return nil }
        return "\(SafeText.escape(value)) is outside the declared \(scope)."
    }

    /// Whether one entry allows all that another one does.
    func covers(_ entry: String, _ other: String) -> Bool {
        switch kind {
        case .equal: return entry == other
        case .uuid: return Self.normalizedUUID(entry) == Self.normalizedUUID(other)
        case .hosts:
            guard let entry = HostPattern(entry: entry), let other = HostPattern(entry: other) else { return false }
            return entry.covers(other)
        }
    }

    /// Whether a scope without a list allows what an entry does: not this device itself, for one.
    func isInUnlimited(_ entry: String) -> Bool {
        guard kind == .hosts, let pattern = HostPattern(entry: entry) else { return kind != .hosts }
        return HostScope.needsNoEntry(pattern.kind, isLocal: permission == "localNetwork")
    }

    /// What is wrong with an entry, or nil.
    func problem(_ entry: String) -> String? { kind == .hosts ? HostScope.problem(entry) : nil }

    /// `180d`, `0x180D` and the 128-bit form are one UUID; other names are compared in lower case.
    static func normalizedUUID(_ text: String) -> String {
        var text = text.lowercased()
        if text.hasPrefix("0x") { text.removeFirst(2) }
        let isHex = text.utf8.allSatisfy { $0.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
        if isHex, text.utf8.count == 4 { return "0000\(text)-0000-1000-8000-00805f9b34fb" }
        if isHex, text.utf8.count == 8 { return "\(text)-0000-1000-8000-00805f9b34fb" }
        return text
    }
}

extension ScopeRule {
    /// What is compared with a scope.
    ///
    /// Of a URL its origin, so that the answer to one page is the answer to all; of what is no string the JSON, so that
    /// nothing slips by unchecked. What is no URL is marked: its own text could be taken for a host and its address.
    func text(of value: JSON) -> String {
        switch (match, value) {
        case (.uuid, .int(let number)) where 0...0xffff_ffff ~= number:
            let digits = String(number, radix: 16)
            return ScopeMatch.normalizedUUID(String(repeating: "0", count: 8 - digits.count) + digits)
        case (.uuid, .string(let text)): return ScopeMatch.normalizedUUID(text)
        case (.origin, .string(let text)): return HostPattern(place: text)?.text ?? "?" + text
        default: return value.stringValue ?? value.text
        }
    }
}
