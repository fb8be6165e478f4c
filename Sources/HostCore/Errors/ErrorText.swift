internal import ApsuleKit

/// What an error code means, and what a person can do about it.
public struct ErrorText: Sendable, Hashable {
    public let meaning: String
    public let fix: String?

    public init(_ meaning: String, fix: String? = nil) { (self.meaning, self.fix) = (meaning, fix) }

    /// `{"meaning": …, "fix": …}`.
    init(_ reader: DescriptorReader) throws(HostError) {
        meaning = try reader.string("meaning")
        fix = try reader.optionalString("fix")
        try reader.allowOnly(["code", "meaning", "fix"])
    }

    /// The section `errors` of a family: `{"bluetooth.adapter_off": {"meaning": …, "fix": …}}`.
    static func section(_ root: DescriptorReader, family: String) throws(HostError) -> [String: ErrorText] {
        var texts: [String: ErrorText] = [:]
        for member in try root.members("errors", optional: true) {
            guard member.key.hasPrefix(family + "."), isCode(member.key) else {
                throw root.error("errors.\(member.key)", "must be a code of this family: \(family).snake_case")
            }
            texts[member.key] = try ErrorText(try root.child("errors").child(member.key))
        }
        return texts
    }

    /// The `errors` of an operation: codes, or `{"code": …, "meaning": …, "fix": …}`.
    static func list(_ reader: DescriptorReader) throws(HostError) -> (codes: [String], texts: [String: ErrorText]) {
        var codes: [String] = []
        var texts: [String: ErrorText] = [:]
        for (index, value) in try reader.array("errors").enumerated() {
            var code = value.stringValue ?? ""
            if value.members != nil {
                let entry = try reader.element("errors", index)
                code = try entry.string("code")
                texts[code] = try ErrorText(entry)
            }
            guard isCode(code) else { throw reader.error("errors", "must hold codes: family.snake_case") }
            codes.append(code)
        }
        return (codes, texts)
    }

    /// `<family>.<snake_case>`.
    static func isCode(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].utf8.first, let second = parts[1].utf8.first else { return false }
        return !first.isDigit && parts[0].utf8.allSatisfy(\.isLetterOrDigit) && !second.isDigit
            && parts[1].utf8.allSatisfy { $0 == UInt8(ascii: "_") || ($0.isLetterOrDigit && !(65...90).contains($0)) }
    }
}
