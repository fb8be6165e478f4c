import ApsuleKit

/// The first place where a value does not fit its schema.
public struct SchemaMismatch: Error, Sendable, Hashable {
    /// As in `filter.services[0]`; empty for the value as a whole.
    public internal(set) var path = ""
    public let expected: String
    public let got: String
    /// The known name that an unknown one resembles.
    public let suggestion: String?

    init(expected: String, got: String, suggestion: String? = nil) {
        self.expected = expected
        self.got = got
        self.suggestion = suggestion
    }

    init(_ expected: String, _ value: JSON) { self.init(expected: expected, got: Self.description(of: value)) }

    /// One sentence: `filter.services[0]: expected string, got number 3`.
    public var message: String {
        let hint = suggestion.map { "; did you mean \(Self.quoted($0))?" } ?? ""
        return "\(path.isEmpty ? "arguments" : path): expected \(expected), got \(got)\(hint)"
    }

    var invalidArgument: HostError {
        var error = HostError.invalidArgument(path, expected: expected, got: got)
        error.message = message
        if let suggestion { error.details.set("suggestion", .string(suggestion)) }
        return error
    }

    // MARK: The way in

    /// The same mismatch seen from the object that has the value under `key`.
    func under(_ key: String) -> SchemaMismatch { behind(Self.step(key)) }

    /// The same mismatch seen from the array that has the value at `index`.
    func at(_ index: Int) -> SchemaMismatch { behind("[\(index)]") }

    private func behind(_ step: String) -> SchemaMismatch {
        var outer = self
        outer.path = path.isEmpty || path.hasPrefix("[") ? step + path : step + "." + path
        return outer
    }

    /// A key as a part of a path: bare where it reads as a name, else in brackets and quotes.
    static func step(_ key: String) -> String {
        let isName = key.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || "0123456789_-$".unicodeScalars.contains($0)
        }
        return isName && !key.isEmpty && key.utf8.count <= 64 ? key : "[\(quoted(key))]"
    }

    // MARK: Words

    /// What a value is, short enough for a message: `number 3`, `string "abc"`, `object`.
    static func description(of value: JSON) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "boolean \(value)"
        case .int(let value): "number \(value)"
        case .double(let value) where value.isFinite: "number \(JSON.double(value).text)"
        case .double(let value): value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity"
        case .string(let value): "string \(quoted(value))"
        case .array(let elements): elements.isEmpty ? "an empty array" : "array"
        case .object(let members): members.isEmpty ? "an empty object" : "object"
        }
    }

    /// The start of a text as a JSON string, so that control characters are harmless.
    static func quoted(_ text: String) -> String {
        let most = 48
        let isLong = text.utf8.count > most && text.unicodeScalars.count > most
        return JSON.string(isLong ? String(text.unicodeScalars.prefix(most)) + "…" : text).text
    }

    /// `a`, `a or b`, `a, b or c`; of many the first ten.
    static func list(_ words: [String]) -> String {
        let shown = words.count > 10 ? words.prefix(10) + ["\(words.count - 10) more"] : words[...]
        guard let last = shown.last, shown.count > 1 else { return shown.first ?? "nothing" }
        return shown.dropLast().joined(separator: ", ") + " or " + last
    }
}

extension OperationDescriptor {
    /// The error for an argument that does not fit; of one that is redacted it does not quote the value.
    func error(for mismatch: SchemaMismatch) -> HostError {
        let place = "arguments.\(mismatch.path)"
        let isSecret = redact.contains { place == $0 || place.hasPrefix($0 + ".") || place.hasPrefix($0 + "[") }
        guard isSecret else { return mismatch.invalidArgument }
        return .invalidArgument(mismatch.path, expected: mismatch.expected, got: "a value that is not shown")
    }
}
