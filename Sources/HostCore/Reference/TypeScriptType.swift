internal import ApsuleKit

/// A JSON Schema of the descriptor's vocabulary as a TypeScript type.
struct TypeScriptType {
    /// Whose values: a caller's arguments take more kinds of bytes than a result gives.
    enum Role { case argument, result }

    let role: Role

    func text(_ schema: JSON, indent: Int = 0) -> String {
        if let constant = schema["const"] { return constant.text }
        if let values = schema["enum"]?.arrayValue { return union(values.map(\.text)) }
        if let alternatives = schema["oneOf"]?.arrayValue {
            return union(alternatives.map { text(merged(schema, $0), indent: indent) })
        }
        switch schema["type"] {
        case .array(let names): return union(names.compactMap(\.stringValue).map { text(schema, of: $0, indent) })
        case .string(let name): return text(schema, of: name, indent)
        default: break
        }
        if schema["properties"] != nil || schema["additionalProperties"] != nil { return object(schema, indent) }
        if schema["items"] != nil { return array(schema, indent) }
        if schema["contentEncoding"] != nil { return bytes }
        return role == .argument ? "unknown" : "any"
    }

    private func text(_ schema: JSON, of type: String, _ indent: Int) -> String {
        switch type {
        case "integer", "number": schema["format"] == "int64" ? "number | bigint" : "number"
        case "string": schema["contentEncoding"] != nil ? bytes : "string"
        case "array": array(schema, indent)
        // A result that is text in some encodings and bytes in another.
        case "object": schema["x-bytes"] == true ? "Uint8Array" : object(schema, indent)
        default: type  // null, boolean
        }
    }

    private var bytes: String { role == .argument ? "string | Apsule.Bytes" : "string | Uint8Array" }

    /// What stands beside oneOf holds for each alternative.
    private func merged(_ schema: JSON, _ alternative: JSON) -> JSON {
        guard alternative["type"] == nil, let type = schema["type"] else { return alternative }
        var merged = alternative
        merged.set("type", type)
        return merged
    }

    private func union(_ parts: [String]) -> String {
        var unique: [String] = []
        for part in parts.flatMap(Self.alternatives) where !unique.contains(part) { unique.append(part) }
        return unique.joined(separator: " | ")
    }

    /// The parts of a union at the top level.
    private static func alternatives(_ type: String) -> [String] {
        type.contains("{") || type.contains("(")
            ? [type] : type.split(separator: "|").map { String($0).trimmingWhitespace }
    }

    private func array(_ schema: JSON, _ indent: Int) -> String {
        guard let items = schema["items"] else { return role == .argument ? "unknown[]" : "any[]" }
        let element = text(items, indent: indent)
        return element.contains(" | ") && !element.hasPrefix("{") ? "(\(element))[]" : "\(element)[]"
    }

    private func object(_ schema: JSON, _ indent: Int) -> String {
        let members = self.members(schema, indent: indent + 1)
        guard !members.isEmpty else {
            return schema["additionalProperties"] == .bool(false) ? "{}" : index(schema, indent)
        }
        return "{\n\(members)\(Self.space(indent))}"
    }

    private func index(_ schema: JSON, _ indent: Int) -> String {
        let value = schema["additionalProperties"].flatMap { $0.members == nil ? nil : text($0, indent: indent) }
        return "{ [name: string]: \(value ?? (role == .argument ? "unknown" : "any")) }"
    }

    /// The lines of an object's members, each with its comment.
    ///
    /// - Parameter without: names that are said elsewhere.
    func members(_ schema: JSON, indent: Int, without: Set<String> = []) -> String {
        let required = Set(schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        var lines = ""
        for property in schema["properties"]?.members ?? [] where !without.contains(property.key) {
            lines += DocComment(property.value).text(indent)
            let mark = required.contains(property.key) ? "" : "?"
            lines += "\(Self.space(indent))\(Self.key(property.key))\(mark): \(text(property.value, indent: indent));\n"
        }
        let isOpen: Bool =
            switch schema["additionalProperties"] {
            case .bool(let isAllowed): isAllowed
            case nil: role == .argument
            default: true
            }
        // Beside named members an index signature must fit them all.
        if isOpen, !lines.isEmpty {
            lines += "\(Self.space(indent))[name: string]: \(role == .argument ? "unknown" : "any");\n"
        }
        return lines
    }

    static func space(_ indent: Int) -> String { String(repeating: "  ", count: indent) }

    static func key(_ name: String) -> String {
        let isName =
            name.utf8.first.map { !$0.isDigit } ?? false
            && name.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "$") }
        return isName ? name : JSON.string(name).text
    }

    /// `player.play` → `PlayerPlay`.
    static func name(_ operation: String) -> String {
        operation.split(separator: ".").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}

/// A comment of TypeScript, `/** … */`.
struct DocComment {
    private var lines: [String] = []

    init(_ lines: [String] = []) { for line in lines { add(line) } }

    /// What a schema says of a value besides its type.
    init(_ schema: JSON) {
        add(Self.describe(schema))
    }

    /// Begins another paragraph.
    mutating func gap() { lines.append("") }

    mutating func add(_ line: String) {
        guard !line.isEmpty else { return }
        for part in line.split(separator: "\n") { lines.append(String(part).replacing("*/", with: "*\\/")) }
    }

    func text(_ indent: Int) -> String {
        let space = TypeScriptType.space(indent)
        switch lines.count {
        case 0: return ""
        case 1: return "\(space)/** \(lines[0]) */\n"
        default:
            return "\(space)/**\n" + lines.map { "\(space) *\($0.isEmpty ? "" : " ")\($0)\n" }.joined()
                + "\(space) */\n"
        }
    }

    /// Description, unit, limits and default in one line.
    static func describe(_ schema: JSON) -> String {
        var parts: [String] = []
        if let unit = schema["x-unit"]?.stringValue { parts.append("Unit: \(unit).") }
        let range = (schema["minimum"]?.text, schema["maximum"]?.text)
        switch range {
        case (let low?, let high?): parts.append("\(low) to \(high).")
        case (let low?, nil): parts.append("At least \(low).")
        case (nil, let high?): parts.append("At most \(high).")
        default: break
        }
        if let format = schema["format"]?.stringValue, format != "int64" { parts.append("Format: \(format).") }
        if let value = schema["default"] { parts.append("Default: \(value.text).") }
        guard let text = schema["description"]?.stringValue else { return parts.joined(separator: " ") }
        let needsDot = !parts.isEmpty && !".!?…".contains(text.last ?? ".")
        return ([text + (needsDot ? "." : "")] + parts).joined(separator: " ")
    }
}
