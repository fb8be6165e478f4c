internal import ApsuleKit

/// A schema as rows of a table: name, type, what it is; nested members by their paths.
enum SchemaRows {
    static let head = ["name", "type", "meaning"]

    /// - Parameter mark: says which members must be given.
    static func rows(_ schema: JSON, mark: Bool) -> [[Document.Inline]] {
        var rows: [[Document.Inline]] = []
        if schema["properties"] == nil, schema["type"] != "object" || schema["additionalProperties"]?.members != nil {
            return [[.code("value"), .code(type(schema)), meaning(schema)]] + nested(schema, "", mark: mark)
        }
        add(schema, "", mark: mark, to: &rows)
        return rows
    }

    private static func nested(_ schema: JSON, _ path: String, mark: Bool) -> [[Document.Inline]] {
        var rows: [[Document.Inline]] = []
        if schema["items"] != nil { addItems(schema, path, mark: mark, to: &rows) }
        return rows
    }

    private static func add(_ schema: JSON, _ path: String, mark: Bool, to rows: inout [[Document.Inline]]) {
        let required = Set(schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        for member in schema["properties"]?.members ?? [] {
            let name = path.isEmpty ? member.key : "\(path).\(member.key)"
            let isOptional = mark && !required.contains(member.key)
            rows.append([.code(name + (isOptional ? "?" : "")), .code(type(member.value)), meaning(member.value)])
            add(member.value, name, mark: mark, to: &rows)
            addItems(member.value, name, mark: mark, to: &rows)
        }
    }

    private static func addItems(_ schema: JSON, _ path: String, mark: Bool, to rows: inout [[Document.Inline]]) {
        guard let items = schema["items"] else { return }
        add(items, "\(path)[]", mark: mark, to: &rows)
    }

    private static func meaning(_ schema: JSON) -> Document.Inline { Document.Inline(DocComment.describe(schema)) }

    /// A type in a few words.
    static func type(_ schema: JSON) -> String {
        if let constant = schema["const"] { return constant.text }
        if let values = schema["enum"]?.arrayValue { return values.map(\.text).joined(separator: " | ") }
        if let choices = schema["oneOf"]?.arrayValue { return choices.map(type).joined(separator: " | ") }
        let names: [String] =
            switch schema["type"] {
            case .string(let name): [name]
            case .array(let names): names.compactMap(\.stringValue)
            default: schema["properties"] != nil ? ["object"] : schema["contentEncoding"] != nil ? ["string"] : ["any"]
            }
        return names.map { name in
            switch name {
            case "array": schema["items"].map { list(type($0)) } ?? "list"
            case "string" where schema["contentEncoding"] != nil: "Base64 | Uint8Array"
            case "object" where schema["additionalProperties"]?.members != nil:
                "object of \(type(schema["additionalProperties"] ?? .null))"
            case "integer" where schema["format"] == "int64": "integer of 64 bits"
            default: name
            }
        }.joined(separator: " | ")
    }

    private static func list(_ element: String) -> String {
        element.contains(" ") ? "list of (\(element))" : "list of \(element)"
    }
}
