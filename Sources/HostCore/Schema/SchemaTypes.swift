import ApsuleKit

/// The kinds of JSON values; an integer is also a number.
struct SchemaTypes: OptionSet, Sendable {
    let rawValue: UInt8

    static let null = SchemaTypes(rawValue: 1)
    static let boolean = SchemaTypes(rawValue: 2)
    static let integer = SchemaTypes(rawValue: 4)
    static let fraction = SchemaTypes(rawValue: 8)
    static let string = SchemaTypes(rawValue: 16)
    static let array = SchemaTypes(rawValue: 32)
    static let object = SchemaTypes(rawValue: 64)
    static let number: SchemaTypes = [.integer, .fraction]
    static let all = SchemaTypes(rawValue: 127)

    /// The types by their names in a schema.
    static let named: [(name: String, types: SchemaTypes)] = [
        ("null", .null), ("boolean", .boolean), ("integer", .integer), ("number", .number), ("string", .string),
        ("array", .array), ("object", .object),
    ]

    /// The kind of a value: 1.0 is an integer, NaN and the infinities are nothing that JSON has.
    @inline(__always)
    static func of(_ value: JSON) -> SchemaTypes {
        switch value {
        case .null: .null
        case .bool: .boolean
        case .int: .integer
        case .double(let value): !value.isFinite ? [] : value.rounded(.towardZero) == value ? .integer : .fraction
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    /// As in `string or null`.
    var names: String {
        let names = Self.named.filter { isSuperset(of: $0.types) && !($0.name == "integer" && contains(.fraction)) }
        return SchemaMismatch.list(names.map(\.name))
    }
}

extension JSON {
    /// Equality of JSON Schema: `1` is `1.0`, and the order of members does not count.
    func equals(_ other: JSON) -> Bool {
        switch (self, other) {
        case (.int, .double), (.double, .int), (.double, .double): JSON.compare(self, other) == 0
        case (.array(let one), .array(let other)):
            one.count == other.count && zip(one, other).allSatisfy { $0.equals($1) }
        case (.object(let one), .object(let members)):
            one.count == members.count && one.allSatisfy { other[$0.key]?.equals($0.value) ?? false }
        default: self == other
        }
    }

    /// Negative, 0 or positive, exact also where a double cannot hold the integer; nil where one is no number.
    static func compare(_ one: JSON, _ other: JSON) -> Int? {
        switch (one, other) {
        case (.int(let a), .int(let b)): return a < b ? -1 : a == b ? 0 : 1
        case (.double(let a), .double(let b)): return a < b ? -1 : a == b ? 0 : a > b ? 1 : nil
        case (.double, .int): return compare(other, one).map { -$0 }
        case (.int(let a), .double(let b)):
            if b.isNaN { return nil }
            if b >= 0x1p63 { return -1 }
            if b < -0x1p63 { return 1 }
            let whole = b.rounded(.down)
            let floor = Int64(whole)
            return a < floor ? -1 : a > floor ? 1 : whole == b ? 0 : -1
        default: return nil
        }
    }
}
