/// A value that SQLite stores.
///
/// Integers keep 64 bits. SQLite has no NaN: it stores one as NULL.
/// Source: <https://sqlite.org/datatype3.html>
public enum SQLiteValue: Sendable, Hashable {
    case null
    case int(Int64)
    case double(Double)
    case text(String)
    case blob([UInt8])
}

extension SQLiteValue {
    public var isNull: Bool { if case .null = self { true } else { false } }
    public var intValue: Int64? { if case .int(let value) = self { value } else { nil } }
    public var doubleValue: Double? { if case .double(let value) = self { value } else { nil } }
    public var textValue: String? { if case .text(let value) = self { value } else { nil } }
    public var blobValue: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
}

extension SQLiteValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .text(value) }
}

/// One row of a result.
public struct SQLiteRow: Sendable {
    public let columns: [String]
    public let values: [SQLiteValue]

    public subscript(index: Int) -> SQLiteValue { values[index] }

    /// The value of the first column of that name.
    public subscript(column: String) -> SQLiteValue? { columns.firstIndex(of: column).map { values[$0] } }
}
