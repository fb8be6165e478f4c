internal import ApsuleKit
internal import CSQLite

/// One prepared statement and its only owner; it stays within the connection that made it.
///
/// Source: <https://sqlite.org/c3ref/stmt.html>
final class SQLiteStatement {
    private let pointer: OpaquePointer
    private let database: OpaquePointer
    private let family: String
    /// When the connection last used it.
    var lastUse: UInt64 = 0

    /// C's `SQLITE_TRANSIENT`, a cast that Swift does not import.
    ///
    /// It makes SQLite copy what is bound: the values do not outlive the call.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// - Throws: `sql_error` also for what stands after the first statement, which would be ignored silently.
    init(_ sql: String, database: OpaquePointer, family: String) throws(HostError) {
        // SQLite reads no further.
        guard !sql.utf8.contains(0) else {
            throw HostError(sqlite: SQLITE_ERROR, "a zero character in the statement", family: family)
        }
        var statement: OpaquePointer?
        var sql = sql
        let (code, hasMore) = sql.withUTF8 { text in
            text.withMemoryRebound(to: CChar.self) { text in
                var tail: UnsafePointer<CChar>?
                let code = sqlite3_prepare_v3(
                    database, text.baseAddress, Int32(clamping: text.count), UInt32(SQLITE_PREPARE_PERSISTENT),
                    &statement, &tail)
                guard code == SQLITE_OK, let base = text.baseAddress, let tail else { return (code, false) }
                let rest = UnsafeBufferPointer(rebasing: text[(tail - base)...])
                return (code, Self.hasStatement(rest, database))
            }
        }
        guard code == SQLITE_OK else { throw Self.error(code, database, family) }
        guard let statement else { throw HostError(sqlite: SQLITE_ERROR, "empty statement", family: family) }
        pointer = statement
        self.database = database
        self.family = family
        // Only from here on does deinit run.
        if hasMore { throw HostError(sqlite: SQLITE_ERROR, "more than one statement", family: family) }
    }

    /// Whether a text is more than spaces, semicolons and comments.
    private static func hasStatement(_ text: UnsafeBufferPointer<CChar>, _ database: OpaquePointer) -> Bool {
        var rest = text[...]
        while rest.contains(where: { $0 > 0x20 && $0 != 0x3b }) {
            var next: OpaquePointer?
            var tail: UnsafePointer<CChar>?
            let part = UnsafeBufferPointer(rebasing: rest)
            let code = sqlite3_prepare_v3(database, part.baseAddress, Int32(clamping: part.count), 0, &next, &tail)
            sqlite3_finalize(next)
            guard code == SQLITE_OK, next == nil, let base = part.baseAddress, let tail, tail > base else {
                return true
            }
            rest = rest.dropFirst(tail - base)
        }
        return false
    }

    /// Whether it leaves the database as it is.
    var isReadOnly: Bool { sqlite3_stmt_readonly(pointer) != 0 }

    deinit { sqlite3_finalize(pointer) }

    var columns: [String] {
        (0..<sqlite3_column_count(pointer)).map { column in
            sqlite3_column_name(pointer, column).map { String(cString: $0) } ?? ""
        }
    }

    func bind(_ values: [SQLiteValue]) throws(HostError) {
        let expected = Int(sqlite3_bind_parameter_count(pointer))
        guard values.count == expected else {
            throw HostError(sqlite: SQLITE_RANGE, "\(expected) parameters, \(values.count) values", family: family)
        }
        for (index, value) in values.enumerated() {
            let code = bind(value, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw Self.error(code, database, family) }
        }
    }

    private func bind(_ value: SQLiteValue, at index: Int32) -> Int32 {
        switch value {
        case .null: return sqlite3_bind_null(pointer, index)
        case .int(let value): return sqlite3_bind_int64(pointer, index, value)
        case .double(let value): return sqlite3_bind_double(pointer, index, value)
        case .text(var text):
            // A NULL pointer, which no bytes may have, would bind NULL.
            if text.isEmpty { return sqlite3_bind_text64(pointer, index, "", 0, Self.copied, UInt8(SQLITE_UTF8)) }
            return text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    sqlite3_bind_text64(
                        pointer, index, bytes.baseAddress, UInt64(bytes.count), Self.copied, UInt8(SQLITE_UTF8))
                }
            }
        case .blob(let bytes) where bytes.isEmpty: return sqlite3_bind_zeroblob(pointer, index, 0)
        case .blob(let bytes):
            return bytes.withUnsafeBytes {
                sqlite3_bind_blob64(pointer, index, $0.baseAddress, UInt64($0.count), Self.copied)
            }
        }
    }

    /// Whether there is a row.
    func step() throws(HostError) -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw Self.error(code, database, family)
        }
    }

    func value(_ column: Int32) -> SQLiteValue {
        switch sqlite3_column_type(pointer, column) {
        case SQLITE_INTEGER: return .int(sqlite3_column_int64(pointer, column))
        case SQLITE_FLOAT: return .double(sqlite3_column_double(pointer, column))
        case SQLITE_TEXT:
            let text = sqlite3_column_text(pointer, column)
            let count = Int(sqlite3_column_bytes(pointer, column))
            return .text(String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(pointer, column)
            let count = Int(sqlite3_column_bytes(pointer, column))
            return .blob([UInt8](UnsafeRawBufferPointer(start: start, count: count)))
        default: return .null
        }
    }

    /// Ends the execution, which also ends its read transaction, and lets go of the bound values.
    func reset() {
        sqlite3_reset(pointer)
        sqlite3_clear_bindings(pointer)
    }

    static func error(_ code: Int32, _ database: OpaquePointer, _ family: String) -> HostError {
        HostError(
            sqlite: code, String(cString: sqlite3_errmsg(database)), osError: sqlite3_system_errno(database),
            family: family)
    }
}
