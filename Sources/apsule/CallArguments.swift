import ApsuleKit
import HostCore

/// `{…}`, or `name=text` and `name:=json` pairs; dots reach into objects.
enum CallArguments {
    static func parse(_ words: some Collection<String>) throws(HostError) -> JSON {
        if let first = words.first, first.hasPrefix("{") {
            guard words.count == 1 else {
                throw HostError("usage.invalid", "Give one JSON object, or name=value pairs.")
            }
            return try json(first)
        }
        var result: JSON = .object([])
        for word in words {
            guard let equals = word.firstIndex(of: "="), equals != word.startIndex else {
                throw HostError("usage.invalid", "\(word) is neither a JSON object nor name=text nor name:=json.")
            }
            let before = word.index(before: equals)
            let value = String(word[word.index(after: equals)...])
            let isJSON = word[before] == ":"
            let path = (isJSON ? word[..<before] : word[..<equals]).split(separator: ".").map(String.init)
            guard !path.isEmpty else { throw HostError("usage.invalid", "\(word) has no name.") }
            // As deep as JSON may be here.
            guard path.count <= deepest else {
                throw HostError("usage.invalid", "A name reaches deeper than \(deepest) levels.")
            }
            guard set(&result, path[...], isJSON ? try json(value) : .string(value)) else {
                throw HostError("usage.invalid", "\(path.joined(separator: ".")) is given twice.")
            }
        }
        return result
    }

    private static let deepest = 64

    private static func json(_ text: String) throws(HostError) -> JSON {
        do { return try JSON(parsing: text) } catch {
            throw HostError("usage.invalid", "This is no JSON: \(error.message) at byte \(error.offset).")
        }
    }

    /// False where there is a value already.
    private static func set(_ target: inout JSON, _ path: ArraySlice<String>, _ value: JSON) -> Bool {
        guard let key = path.first else { return false }
        let present = target[key]
        if path.count == 1 {
            guard present == nil else { return false }
            target.set(key, value)
            return true
        }
        guard present == nil || present?.members != nil else { return false }
        var inner = present ?? .object([])
        guard set(&inner, path.dropFirst(), value) else { return false }
        target.set(key, inner)
        return true
    }
}
