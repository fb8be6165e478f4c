public import ApsuleKit
internal import CSQLite
internal import Synchronization

/// What a database does for statements that are somebody else's: no other file, no extension, nothing that could damage it,
/// and no longer than somebody waits.
///
/// Sources: <https://sqlite.org/security.html>, <https://sqlite.org/c3ref/set_authorizer.html>
public final class SQLiteGuard: Sendable {
    private let state = Mutex(State())

    private struct State {
        var mustStop: (@Sendable () -> Bool)?
        var refused: String?
    }

    /// Bytes that a text, a blob or a row may have.
    public static let greatestValue: Int32 = 64 << 20
    private static let greatestStatement: Int32 = 1 << 20
    /// Steps of SQLite's machine between two looks at whether anybody still waits.
    private static let steps: Int32 = 4096

    public init() {}

    /// Runs `body`; statements in it end with `<family>.interrupted` soon after `mustStop` says so.
    public func watching<R>(
        _ mustStop: @escaping @Sendable () -> Bool, _ body: () throws(HostError) -> R
    ) throws(HostError) -> R {
        state.withLock { $0 = State(mustStop: mustStop) }
        defer { state.withLock { $0.mustStop = nil } }
        return try body()
    }

    /// What the last statement that was refused wanted to do.
    var refused: String? { state.withLock { $0.refused } }

    func set(up database: OpaquePointer) -> Int32 {
        let switches = [
            (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0), (SQLITE_DBCONFIG_DQS_DML, 0),
            (SQLITE_DBCONFIG_DQS_DDL, 0), (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
            (SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0), (SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0),
        ]
        for (name, value) in switches {
            let code = csqlite_configure(database, name, Int32(value))
            guard code == SQLITE_OK else { return code }
        }
        // VACUUM attaches a nameless file of its own.
        let limits = [
            (SQLITE_LIMIT_LENGTH, Self.greatestValue), (SQLITE_LIMIT_SQL_LENGTH, Self.greatestStatement),
            (SQLITE_LIMIT_ATTACHED, 1), (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10_000), (SQLITE_LIMIT_WORKER_THREADS, 0),
        ]
        for (name, value) in limits { sqlite3_limit(database, name, value) }
        // What does not fit into memory would go to files elsewhere.
        let code = sqlite3_exec(database, "PRAGMA temp_store = MEMORY", nil, nil, nil)
        guard code == SQLITE_OK else { return code }
        let me = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_progress_handler(
            database, Self.steps, { SQLiteGuard.from($0).mustStop ? 1 : 0 }, me)
        return sqlite3_set_authorizer(
            database,
            { data, action, first, second, _, _ in
                SQLiteGuard.from(data).allows(action, SQLiteGuard.text(first), SQLiteGuard.text(second))
                    ? SQLITE_OK : SQLITE_DENY
            }, me)
    }

    private static func from(_ data: UnsafeMutableRawPointer?) -> SQLiteGuard {
        guard let data else { preconditionFailure("SQLite hands back what it was given") }
        return Unmanaged<SQLiteGuard>.fromOpaque(data).takeUnretainedValue()
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }

    private var mustStop: Bool { state.withLock { $0.mustStop }?() ?? false }

    private func allows(_ action: Int32, _ first: String?, _ second: String?) -> Bool {
        let refused: String? =
            switch action {
            // The name is nil where it is computed.
            case SQLITE_ATTACH: first == "" ? nil : "ATTACH"
            case SQLITE_DETACH: first?.hasPrefix("vacuum_") == true ? nil : "DETACH"
            case SQLITE_PRAGMA: Self.allowsPragma(first ?? "", second) ? nil : "PRAGMA \(first ?? "")"
            case SQLITE_FUNCTION:
                ["load_extension", "fts3_tokenizer"].contains(second?.lowercased()) ? second : nil
            case SQLITE_CREATE_VTABLE: Self.modules.contains(second?.lowercased() ?? "") ? nil : "USING \(second ?? "")"
            default: nil
            }
        guard let refused else { return true }
        state.withLock { $0.refused = refused }
        return false
    }

    private static let modules: Set = [
        "fts3", "fts4", "fts4aux", "fts5", "fts5vocab", "rtree", "rtree_i32", "geopoly",
    ]

    private static func allowsPragma(_ name: String, _ value: String?) -> Bool {
        let name = name.lowercased()
        return told.contains(name) || value == nil && asked.contains(name)
    }

    /// Those that only tell, however they are asked, and those that concern nothing but this database.
    private static let told: Set = [
        "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
        "foreign_key_check", "integrity_check", "quick_check", "optimize", "incremental_vacuum", "user_version",
        "application_id", "foreign_keys", "defer_foreign_keys", "recursive_triggers",
    ]
    /// Those that tell where nothing is to be set.
    private static let asked: Set = [
        "data_version", "page_size", "page_count", "freelist_count", "max_page_count", "schema_version", "encoding",
        "collation_list", "function_list", "module_list", "pragma_list", "compile_options", "journal_mode",
    ]
}
