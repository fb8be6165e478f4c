import ApsuleKit

/// Compiles schemas and refuses what the vocabulary does not have.
enum SchemaReader {
    /// - Throws: `descriptor.invalid` with details `{path, key, value, rule}`.
    static func read(_ json: JSON, at path: String, depth: Int = 0) throws(HostError) -> SchemaRule {
        guard case .object(let members) = json else {
            throw invalid(path, "", json, "a schema is an object")
        }
        guard depth < deepest else { throw invalid(path, "", .null, "schemas nest at most \(deepest) deep") }
        if members.isEmpty { return .anything }
        let node = SchemaNode(json: json, path: path, depth: depth)
        var parts = SchemaRule.Parts()
        if let type = json["type"] { parts.types = try node.types(type) }
        for member in members where member.key != "type" && !member.key.hasPrefix("x-") {
            guard let keyword = SchemaKeyword(rawValue: member.key) else {
                let near = Suggestion.nearest(to: member.key, among: SchemaKeyword.allCases.map(\.rawValue))
                let hint = near.map { "; did you mean \"\($0)\"?" } ?? ""
                throw node.invalid(member.key, "is not a keyword of descriptors\(hint)")
            }
            if let applies = keyword.applies, parts.types.isDisjoint(with: applies) {
                throw node.invalid(member.key, "never applies to the type \(parts.types.names)")
            }
            try node.read(keyword, member.value, into: &parts)
        }
        try node.finish(&parts)
        let rule = SchemaRule(parts)
        if let value = json["default"] { try node.checkDefault(value, by: rule) }
        return rule
    }

    static func invalid(_ path: String, _ key: String, _ value: JSON, _ rule: String) -> HostError {
        let place = [path, key].filter { !$0.isEmpty }.joined(separator: ".")
        return HostError(
            "descriptor.invalid", "\(place.isEmpty ? "schema" : place): \(rule)",
            details: ["path": .string(path), "key": .string(key), "value": value, "rule": .string(rule)])
    }

    private static let deepest = 32
}

enum SchemaKeyword: String, CaseIterable {
    case type, properties, required, additionalProperties, items, `enum`, const, minimum, maximum, minLength, maxLength,
        minItems, maxItems, pattern, format, contentEncoding, `default`, description, oneOf

    /// The types that the keyword says something about; nil: all.
    var applies: SchemaTypes? {
        switch self {
        case .properties, .required, .additionalProperties: .object
        case .items, .minItems, .maxItems: .array
        case .minimum, .maximum: .number
        case .minLength, .maxLength, .pattern, .contentEncoding: .string
        case .format: [.string, .integer]
        default: nil
        }
    }
}

/// One schema object while it is read.
struct SchemaNode {
    let json: JSON
    let path: String
    let depth: Int

    func invalid(_ key: String, _ rule: String) -> HostError {
        SchemaReader.invalid(path, key, json[key] ?? .null, rule)
    }

    func read(_ keyword: SchemaKeyword, _ value: JSON, into parts: inout SchemaRule.Parts) throws(HostError) {
        switch keyword {
        case .type, .default, .required, .minLength, .maxLength, .minItems, .maxItems: break  // elsewhere
        case .description:
            if value.stringValue == nil { throw invalid("description", "is a string") }
        case .properties: try readProperties(value, into: &parts)
        case .additionalProperties:
            switch value {
            case .bool(let isAllowed): parts.additional = isAllowed ? .allowed : .refused
            default: parts.additional = .checked(try child(value, "additionalProperties"))
            }
        case .items: parts.items = try child(value, "items")
        case .oneOf:
            for (index, alternative) in try elements(value, "oneOf").enumerated() {
                parts.alternatives.append(try child(alternative, "oneOf[\(index)]"))
            }
        case .enum: parts.values = try elements(value, "enum")
        case .const: parts.values = [value]
        case .minimum: parts.minimum = try number(value, "minimum")
        case .maximum: parts.maximum = try number(value, "maximum")
        case .pattern:
            guard let source = value.stringValue else { throw invalid("pattern", "is a string") }
            do throws(Pattern.Failure) { parts.pattern = try Pattern(source) } catch {
                throw invalid("pattern", "\(error.reason) (character \(error.offset + 1))")
            }
        case .format:
            guard let format = value.stringValue.flatMap(SchemaFormat.init) else {
                throw invalid("format", "is one of \(SchemaFormat.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            guard !parts.types.isDisjoint(with: format.applies) else {
                throw invalid("format", "never applies to the type \(parts.types.names)")
            }
            parts.format = format
        case .contentEncoding:
            guard value == "base64" else { throw invalid("contentEncoding", "is \"base64\"") }
            parts.isBase64 = true
        }
    }

    /// What needs more than one keyword.
    func finish(_ parts: inout SchemaRule.Parts) throws(HostError) {
        if json["const"] != nil, json["enum"] != nil { throw invalid("const", "does not stand beside enum") }
        parts.length = try range("minLength", "maxLength")
        parts.itemCount = try range("minItems", "maxItems")
        if let minimum = parts.minimum, let maximum = parts.maximum, JSON.compare(minimum, maximum) ?? 0 > 0 {
            throw invalid("minimum", "is not above maximum")
        }
        try readRequired(into: &parts)
    }

    func types(_ value: JSON) throws(HostError) -> SchemaTypes {
        let names = value.arrayValue ?? [value]
        var types: SchemaTypes = []
        for name in names {
            guard let named = SchemaTypes.named.first(where: { .string($0.name) == name }) else {
                let known = SchemaTypes.named.map(\.name).joined(separator: ", ")
                throw invalid("type", "is one of \(known), or an array of them")
            }
            types.formUnion(named.types)
        }
        guard !names.isEmpty, Set(names).count == names.count else { throw invalid("type", "names each type once") }
        return types
    }

    func checkDefault(_ value: JSON, by rule: SchemaRule) throws(HostError) {
        do throws(SchemaMismatch) { try rule.check(value) } catch {
            throw invalid("default", "does not fit its own schema: expected \(error.expected), got \(error.got)")
        }
    }

    // MARK: Parts

    private func child(_ value: JSON, _ key: String) throws(HostError) -> SchemaRule {
        try SchemaReader.read(value, at: path.isEmpty ? key : "\(path).\(key)", depth: depth + 1)
    }

    private func readProperties(_ value: JSON, into parts: inout SchemaRule.Parts) throws(HostError) {
        guard let members = value.members else { throw invalid("properties", "is an object of schemas") }
        let required = json["required"]?.arrayValue ?? []
        for member in members {
            let property = SchemaRule.Property(
                name: member.key, rule: try child(member.value, "properties." + SchemaMismatch.step(member.key)))
            if required.contains(.string(member.key)) {
                parts.properties.insert(property, at: parts.requiredCount)
                parts.requiredCount += 1
            } else {
                parts.properties.append(property)
            }
        }
        guard parts.requiredCount <= 64 else { throw invalid("required", "names at most 64 properties") }
    }

    private func readRequired(into parts: inout SchemaRule.Parts) throws(HostError) {
        guard let value = json["required"] else { return }
        guard let names = value.arrayValue, names.allSatisfy({ $0.stringValue != nil }) else {
            throw invalid("required", "is an array of names")
        }
        guard Set(names).count == names.count else { throw invalid("required", "names each property once") }
        parts.requiredElsewhere = names.compactMap(\.stringValue).filter { json["properties"]?[$0] == nil }
        if case .refused = parts.additional, let name = parts.requiredElsewhere.first {
            throw invalid("required", "names \"\(name)\", which the schema refuses")
        }
    }

    private func elements(_ value: JSON, _ key: String) throws(HostError) -> [JSON] {
        guard let elements = value.arrayValue, !elements.isEmpty else {
            throw invalid(key, "is an array that is not empty")
        }
        return elements
    }

    private func number(_ value: JSON, _ key: String) throws(HostError) -> JSON {
        guard let number = value.doubleValue, number.isFinite else { throw invalid(key, "is a number") }
        return value
    }

    private func range(_ low: String, _ high: String) throws(HostError) -> ClosedRange<Int>? {
        guard json[low] != nil || json[high] != nil else { return nil }
        let minimum = try count(low) ?? 0
        let maximum = try count(high) ?? .max
        guard minimum <= maximum else { throw invalid(low, "is not above \(high)") }
        return minimum...maximum
    }

    private func count(_ key: String) throws(HostError) -> Int? {
        guard let value = json[key] else { return nil }
        guard let count = value.intValue, count >= 0 else { throw invalid(key, "is an integer of at least 0") }
        return Int(count)
    }
}
