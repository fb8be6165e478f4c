import ApsuleKit
import HostCore

/// Arguments made from an operation's schema: some that fit, and many of which each breaks one rule.
struct Samples {
    private let schema: JSON
    private let compiled: Schema

    init(_ operation: OperationDescriptor) {
        schema = operation.json["arguments"] ?? .object([])
        compiled = operation.arguments
    }

    /// The least that fits: what is required, each as small as it may be.
    var fitting: JSON { Self.sample(schema) }

    /// What does not fit, and which rule it breaks.
    var malformed: [(rule: String, arguments: JSON)] {
        var all: [(String, JSON)] = [("an array", []), ("text", "x"), ("a number", 1), ("null", .null)]
        let required = schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? []
        for name in required {
            var arguments = fitting
            arguments.set(name, nil)
            all.append(("\(name) missing", arguments))
        }
        for property in schema["properties"]?.members ?? [] {
            for wrong in Self.wrong(property.value) {
                var arguments = fitting
                arguments.set(property.key, wrong)
                all.append(("\(property.key) = \(wrong.text.prefix(40))", arguments))
            }
        }
        for stranger in ["no such argument", "__proto__", "constructor", ""] {
            var arguments = fitting
            arguments.set(stranger, 1)
            all.append(("a stranger \(stranger)", arguments))
        }
        // Some schemas allow more than others.
        return all.filter { compiled.mismatch(in: $0.1) != nil }
    }

    private static func wrong(_ schema: JSON) -> [JSON] {
        var values: [JSON] = [.null, true, "\u{0}wrong", 1.5, .int(.min), [["deep"]], ["no such member": 1]]
        if let most = schema["maximum"]?.doubleValue { values.append(.double(most + 1)) }
        if let least = schema["minimum"]?.doubleValue { values.append(.double(least - 1)) }
        if let most = schema["maxLength"]?.intValue {
            values.append(.string(String(repeating: "x", count: Int(most) + 1)))
        }
        if let most = schema["maxItems"]?.intValue, let items = schema["items"] {
            values.append(.array(Array(repeating: sample(items), count: Int(most) + 1)))
        }
        return values
    }

    private static func sample(_ schema: JSON) -> JSON {
        if let value = schema["const"] ?? schema["default"] ?? schema["enum"]?[0] ?? schema["x-example"] {
            return value
        }
        if let choice = schema["oneOf"]?[0] { return sample(choice) }
        let type = schema["type"]?.stringValue ?? schema["type"]?[0]?.stringValue
        switch type {
        case "boolean": return false
        case "integer", "number": return schema["minimum"] ?? 1
        case "string": return text(schema)
        case "array":
            let count = schema["minItems"]?.intValue ?? 0
            return .array(Array(repeating: sample(schema["items"] ?? .object([])), count: Int(count)))
        case "object":
            let required = schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? []
            return .object(required.map { .init($0, sample(schema["properties"]?[$0] ?? .object([]))) })
        default: return .null
        }
    }

    private static func text(_ schema: JSON) -> JSON {
        switch schema["format"]?.stringValue {
        case "uri": return "https://example.org/"
        case "date-time": return "2026-01-02T03:04:05Z"
        case "date": return "2026-01-02"
        case "uuid": return "00002a19-0000-1000-8000-00805f9b34fb"
        case "path": return "sample.txt"
        default: break
        }
        if schema["contentEncoding"]?.stringValue == "base64" { return "AQI=" }
        return .string(String(repeating: "a", count: Int(schema["minLength"]?.intValue ?? 1)))
    }
}

extension JSON {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}
