internal import ApsuleKit
internal import CSQLite
internal import Glibc

/// The only owner of one `sqlite3`, open and set up.
///
/// Public because a struct that holds it is laid out in other modules; only this module can make one.
///
/// Source: <https://sqlite.org/c3ref/sqlite3.html>
public struct SQLiteHandle: ~Copyable {
    let pointer: OpaquePointer

    init(
        _ path: String, _ mode: SQLiteConnection.Mode, _ family: String, busyTimeout: Int32, maximumBytes: Int64?,
        _ guarding: SQLiteGuard?
    ) throws(HostError) {
        let access =
            switch mode {
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readWrite, .damaged: SQLITE_OPEN_READWRITE
            case .readOnly: SQLITE_OPEN_READONLY
            }
        var opened: OpaquePointer?
        var code = sqlite3_open_v2(path, &opened, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        if code == SQLITE_OK, let opened {
            sqlite3_busy_timeout(opened, busyTimeout)
            code = Self.setUp(opened, mode, busyTimeout: busyTimeout, maximumBytes: maximumBytes)
            if code == SQLITE_OK, let guarding { code = guarding.set(up: opened) }
        }
        guard code == SQLITE_OK, let opened else {
            defer { sqlite3_close_v2(opened) }
            guard let opened else { throw HostError(sqlite: code, "out of memory", family: family) }
            throw SQLiteStatement.error(code, opened, family)
        }
        pointer = opened
    }

    // Version 2 waits for the statements, whichever is released first.
    deinit { sqlite3_close_v2(pointer) }

    /// Durable, safe beside other processes, and careful with a file that somebody may have damaged.
    private static func setUp(
        _ database: OpaquePointer, _ mode: SQLiteConnection.Mode, busyTimeout: Int32, maximumBytes: Int64?
    ) -> Int32 {
        // It makes SQLite overlook that a file is shorter than it says.
        if mode == .damaged { return run("PRAGMA writable_schema = ON; PRAGMA trusted_schema = OFF", on: database) }
        let code = run(
            """
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON; PRAGMA schema_version;
            """, on: database)
        guard code == SQLITE_OK, mode != .readOnly else { return code }
        var waited: Int32 = 0
        while true {
            // SQLite does not wait by itself where two processes turn on the WAL of a new file at once.
            let code = run("PRAGMA journal_mode = WAL", on: database)
            if code == SQLITE_OK { break }
            guard code & 0xff == SQLITE_BUSY, waited < busyTimeout else { return code }
            usleep(10_000)
            waited += 10
        }
        var limit = ""
        if let maximumBytes { limit = "PRAGMA max_page_count = \(max(1, maximumBytes / pageSize))" }
        return run("PRAGMA synchronous = FULL; " + limit, on: database)
    }

    /// What SQLite makes files with.
    private static let pageSize: Int64 = 4096

    private static func run(_ script: String, on database: OpaquePointer) -> Int32 {
        sqlite3_exec(database, script, nil, nil, nil)
    }
}
