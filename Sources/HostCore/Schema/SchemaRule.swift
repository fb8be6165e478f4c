import ApsuleKit

/// One schema, ready to check values; allocates nothing for a value that fits.
final class SchemaRule: Sendable {
    struct Property: Sendable {
        let name: String
        let rule: SchemaRule
    }

    enum Additional: Sendable {
        case allowed, refused
        case checked(SchemaRule)
    }

    /// What the reader collects.
    struct Parts: Sendable {
        var types = SchemaTypes.all
        /// Required properties first, so that one word of bits notes them.
        var properties: [Property] = []
        var requiredCount = 0
        /// Required names that `properties` does not describe.
        var requiredElsewhere: [String] = []
        var additional = Additional.allowed
        var items: SchemaRule?
        var itemCount: ClosedRange<Int>?
        var length: ClosedRange<Int>?
        var minimum: JSON?
        var maximum: JSON?
        var values: [JSON]?
        var format: SchemaFormat?
        var pattern: Pattern?
        var isBase64 = false
        var alternatives: [SchemaRule] = []
    }

    private let parts: Parts
    /// Of many properties: where each is.
    private let indices: [String: Int]

    init(_ parts: Parts) {
        self.parts = parts
        indices =
            parts.properties.count <= 16
            ? [:] : Dictionary(parts.properties.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    static let anything = SchemaRule(Parts())

    var types: SchemaTypes { parts.types }

    func check(_ value: JSON) throws(SchemaMismatch) {
        guard parts.types.isSuperset(of: SchemaTypes.of(value)), isFinite(value) else {
            if parts.isBase64, isBlob(value) { return }
            guard isFinite(value) else { throw SchemaMismatch("a finite number", value) }
            throw SchemaMismatch(parts.isBase64 ? "Base64 text or bytes" : parts.types.names, value)
        }
        switch value {
        case .null, .bool: break
        case .int, .double: try checkNumber(value)
        case .string(let string): try checkString(string, value)
        case .array(let elements): try checkArray(elements, value)
        case .object(let members): try checkObject(members)
        }
        if parts.values != nil { try checkValues(value) }
        if !parts.alternatives.isEmpty { try checkAlternatives(value) }
    }

    @inline(__always)
    private func isFinite(_ value: JSON) -> Bool {
        if case .double(let value) = value { value.isFinite } else { true }
    }

    /// Bytes beside the JSON: `{"$blob": index}`.
    private func isBlob(_ value: JSON) -> Bool {
        guard case .object(let members) = value, members.count == 1, members[0].key == "$blob",
            case .int(let index) = members[0].value
        else { return false }
        return index >= 0
    }

    // MARK: Numbers and strings

    @inline(__always)
    private func checkNumber(_ value: JSON) throws(SchemaMismatch) {
        if let minimum = parts.minimum, let order = JSON.compare(value, minimum), order < 0 {
            throw SchemaMismatch("at least \(minimum.text)", value)
        }
        if let maximum = parts.maximum, let order = JSON.compare(value, maximum), order > 0 {
            throw SchemaMismatch("at most \(maximum.text)", value)
        }
        if let format = parts.format, !format.fits(value) { throw SchemaMismatch(format.expectation, value) }
    }

    @inline(__always)
    private func checkString(_ string: String, _ value: JSON) throws(SchemaMismatch) {
        if let length = parts.length { try checkLength(length, of: string, value) }
        if parts.isBase64, !SchemaFormat.isBase64(string) { throw SchemaMismatch("Base64 text or bytes", value) }
        if let format = parts.format, !format.fits(value) { throw SchemaMismatch(format.expectation, value) }
        if let pattern = parts.pattern { try checkPattern(pattern, string, value) }
    }

    private func checkLength(
        _ length: ClosedRange<Int>, of string: String, _ value: JSON
    ) throws(SchemaMismatch) {
        // A scalar has one to four bytes: most lengths need no counting.
        let bytes = string.utf8.count
        if bytes <= length.upperBound, (bytes + 3) / 4 >= length.lowerBound { return }
        let count = string.unicodeScalars.count
        guard !length.contains(count) else { return }
        throw SchemaMismatch(
            expected: count < length.lowerBound
                ? "at least \(Self.plural(length.lowerBound, "character"))"
                : "at most \(Self.plural(length.upperBound, "character"))",
            got: "\(Self.plural(count, "character")), \(SchemaMismatch.description(of: value))")
    }

    private func checkPattern(_ pattern: Pattern, _ string: String, _ value: JSON) throws(SchemaMismatch) {
        guard string.utf8.count <= Pattern.longestInput else {
            throw SchemaMismatch("at most \(Pattern.longestInput) bytes", value)
        }
        if !pattern.matches(string) { throw SchemaMismatch("text that matches \(pattern.source)", value) }
    }

    // MARK: Arrays and objects

    @inline(__always)
    private func checkArray(_ elements: [JSON], _ value: JSON) throws(SchemaMismatch) {
        if let count = parts.itemCount, !count.contains(elements.count) {
            throw SchemaMismatch(
                expected: elements.count < count.lowerBound
                    ? "at least \(Self.plural(count.lowerBound, "item"))"
                    : "at most \(Self.plural(count.upperBound, "item"))",
                got: Self.plural(elements.count, "item"))
        }
        guard let items = parts.items else { return }
        for index in elements.indices {
            do throws(SchemaMismatch) { try items.check(elements[index]) } catch { throw error.at(index) }
        }
    }

    @inline(__always)
    private func checkObject(_ members: [JSON.Member]) throws(SchemaMismatch) {
        var missing: UInt64 = parts.requiredCount == 0 ? 0 : .max >> UInt64(64 - parts.requiredCount)
        for index in members.indices {
            let property = self.index(of: members[index].key, hint: index)
            let rule: SchemaRule
            if property >= 0 {
                if property < 64 { missing &= ~(1 << UInt64(property)) }
                rule = parts.properties[property].rule
            } else {
                switch parts.additional {
                case .allowed: continue
                case .refused: throw unknown(members[index].key)
                case .checked(let other): rule = other
                }
            }
            do throws(SchemaMismatch) { try rule.check(members[index].value) } catch {
                throw error.under(members[index].key)
            }
        }
        if missing != 0 {
            let property = parts.properties[missing.trailingZeroBitCount]
            throw SchemaMismatch(expected: property.rule.summary, got: "nothing").under(property.name)
        }
        for name in parts.requiredElsewhere where !members.contains(where: { JSON.same($0.key, name) }) {
            throw SchemaMismatch(expected: "a value", got: "nothing").under(name)
        }
    }

    /// Where the property is, -1: nowhere.
    ///
    /// Callers mostly keep the order of the schema, hence the hint.
    @inline(__always)
    private func index(of name: String, hint: Int) -> Int {
        if hint < parts.properties.count, JSON.same(parts.properties[hint].name, name) { return hint }
        guard indices.isEmpty else {
            guard let index = indices[name], JSON.same(parts.properties[index].name, name) else { return -1 }
            return index
        }
        for index in parts.properties.indices where JSON.same(parts.properties[index].name, name) { return index }
        return -1
    }

    private func unknown(_ name: String) -> SchemaMismatch {
        let known = parts.properties.map(\.name)
        return SchemaMismatch(
            expected: known.isEmpty ? "no arguments" : SchemaMismatch.list(known.sorted()), got: "an unknown name",
            suggestion: Suggestion.nearest(to: name, among: known)
        ).under(name)
    }

    // MARK: Choices

    private func checkValues(_ value: JSON) throws(SchemaMismatch) {
        guard let values = parts.values else { return }
        for candidate in values where candidate.equals(value) { return }
        let names = values.compactMap(\.stringValue)
        throw SchemaMismatch(
            expected: SchemaMismatch.list(values.map(\.text)), got: SchemaMismatch.description(of: value),
            suggestion: value.stringValue.flatMap { Suggestion.nearest(to: $0, among: names) })
    }

    private func checkAlternatives(_ value: JSON) throws(SchemaMismatch) {
        let kind = SchemaTypes.of(value)
        var fitting = 0
        var nearest: SchemaMismatch?
        for rule in parts.alternatives where rule.types.isSuperset(of: kind) || rule.parts.isBase64 {
            do throws(SchemaMismatch) {
                try rule.check(value)
                fitting += 1
            } catch {
                nearest = nearest ?? error
            }
        }
        switch fitting {
        case 1: return
        case 0:
            let types = parts.alternatives.reduce(into: SchemaTypes()) { $0.formUnion($1.types) }
            throw nearest ?? SchemaMismatch(types.intersection(parts.types).names, value)
        default:
            throw SchemaMismatch("a value of one kind only; this one fits \(fitting)", value)
        }
    }

    /// What the rule asks for, in a few words.
    private var summary: String {
        if let values = parts.values { return SchemaMismatch.list(values.map(\.text)) }
        if parts.isBase64 { return "Base64 text or bytes" }
        if let format = parts.format { return format.expectation }
        let types = parts.alternatives.reduce(into: SchemaTypes()) { $0.formUnion($1.types) }
        let kinds = types.isEmpty ? parts.types : types.intersection(parts.types)
        return kinds == .all ? "a value" : kinds.names
    }

    private static func plural(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
