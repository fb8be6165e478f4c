import Glibc

/// One JSON value.
///
/// Integers keep all 64 bits; object members keep their order. Strings and keys compare byte for byte, unlike Swift's
/// own `String.==`, which takes two spellings of the same character for equal: `"é"` and `"e\u{301}"` are two keys.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    /// One name and its value in an object.
    public struct Member: Sendable, Hashable {
        public var key: String
        public var value: JSON

        public init(_ key: String, _ value: JSON) {
            self.key = key
            self.value = value
        }

        public static func == (one: Member, other: Member) -> Bool {
            JSON.same(one.key, other.key) && one.value == other.value
        }
    }

    /// Same kind, same bytes, same order of members; `canonical` compares without regard to order and `1` as `1.0`.
    public static func == (one: JSON, other: JSON) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.string(let a), .string(let b)): same(a, b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    /// Whether two strings have the same bytes.
    @inlinable @inline(__always)
    public static func same(_ one: String, _ other: String) -> Bool {
        // Two words make a string; equal ones hold or refer to the same bytes. Most short strings end here.
        let a = unsafeBitCast(one, to: (UInt, UInt).self)
        let b = unsafeBitCast(other, to: (UInt, UInt).self)
        if a == b { return true }
        return one.utf8.count == other.utf8.count && sameBytes(one, other)
    }

    @usableFromInline
    static func sameBytes(_ one: String, _ other: String) -> Bool {
        withBytes(of: one) { a in
            withBytes(of: other) { b in
                guard a.count == b.count, let first = a.baseAddress, let second = b.baseAddress else {
                    return a.count == b.count
                }
                return memcmp(first, second, a.count) == 0
            }
        }
    }
}

// MARK: - Reading

extension JSON {
    /// The value under `key`, of duplicates the last; nil where this is no object or lacks it.
    public subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { JSON.same($0.key, key) }?.value
    }

    /// The element at `index`, nil where this is no array or is shorter.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    public var isNull: Bool { if case .null = self { true } else { false } }

    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The integer; also a double without a fraction that fits.
    public var intValue: Int64? {
        switch self {
        case .int(let value): value
        case .double(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The number; an integer beyond ±2^53 is rounded.
    public var doubleValue: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }

    public var arrayValue: [JSON]? { if case .array(let value) = self { value } else { nil } }

    /// The members of an object in their order.
    public var members: [Member]? { if case .object(let value) = self { value } else { nil } }
}

// MARK: - Changing

extension JSON {
    /// Replaces the value under `key` or appends it; nil removes it.
    ///
    /// What is no object becomes one.
    public mutating func set(_ key: String, _ value: JSON?) {
        var members: [Member] = []
        if case .object(let old) = self { members = old }
        self = .null  // so that `members` is the only owner and is changed in place
        defer { self = .object(members) }
        guard let value else { return members.removeAll { JSON.same($0.key, key) } }
        if let index = members.lastIndex(where: { JSON.same($0.key, key) }) {
            members[index].value = value
        } else {
            members.append(Member(key, value))
        }
    }
}

// MARK: - Literals

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map(Member.init)) }
}
