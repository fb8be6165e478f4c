public import ApsuleKit
internal import CSQLite
internal import Glibc

extension HostError {
    /// What SQLite answered, as `<family>.<reason>` with the extended result code in the details.
    ///
    /// - Parameter osError: `sqlite3_system_errno`: a full disk or quota shows only there when it hits the WAL's index.
    /// - Source: <https://sqlite.org/rescode.html>
    init(sqlite code: Int32, _ message: String, osError: Int32 = 0, family: String) {
        let isFull = osError == ENOSPC || osError == EDQUOT
        let (reason, text): (String, String?) =
            switch code & 0xff {
            case SQLITE_FULL: ("full", "There is no space left for the database; nothing was changed.")
            case SQLITE_IOERR where isFull, SQLITE_CANTOPEN where isFull:
                ("full", "There is no space left for the database; nothing was changed.")
            case SQLITE_BUSY, SQLITE_LOCKED: ("busy", "Another process holds the database; try again.")
            case SQLITE_CORRUPT, SQLITE_NOTADB: ("corrupt", nil)
            case SQLITE_READONLY, SQLITE_PERM: ("read_only", nil)
            case SQLITE_CANTOPEN: ("cannot_open", nil)
            case SQLITE_CONSTRAINT: ("constraint", nil)
            case SQLITE_TOOBIG: ("value_too_large", nil)
            case SQLITE_INTERRUPT: ("interrupted", nil)
            case SQLITE_ERROR, SQLITE_RANGE, SQLITE_MISMATCH, SQLITE_AUTH: ("sql_error", nil)
            default: ("io_error", nil)
            }
        self.init(
            "\(family).\(reason)", text ?? "SQLite: \(message)",
            details: ["sqliteCode": .int(Int64(code)), "sqliteMessage": .string(message)])
    }

    /// SQLite's extended result code, where the error comes from there.
    public var sqliteCode: Int32? { details["sqliteCode"]?.intValue.flatMap { Int32(exactly: $0) } }

    /// Whether the file is damaged, or is no database at all.
    public var isSQLiteCorruption: Bool {
        guard let code = sqliteCode else { return false }
        return [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
    }
}
