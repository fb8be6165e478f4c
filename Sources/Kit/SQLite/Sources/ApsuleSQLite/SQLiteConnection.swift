public import ApsuleKit
internal import CSQLite

/// One SQLite database, opened by its one owner; `Mutex<SQLiteConnection>` shares it between threads.
///
///     var database = try SQLiteConnection(path: path, family: "storage")
///     try database.migrate([["CREATE TABLE entries (key BLOB PRIMARY KEY, value TEXT NOT NULL)"]])
///     try database.execute("INSERT INTO entries VALUES (?, ?)", [.blob(key), .text(json)])
///     let rows = try database.query("SELECT value FROM entries WHERE key = ?", [.blob(key)])
///
/// A change is on the disk when `execute` or `transaction` returns (WAL, synchronous FULL), and several processes may
/// have one file open. Every error is `<family>.<reason>`: `full`, `busy`, `corrupt`, `read_only`, `cannot_open`,
/// `constraint`, `value_too_large`, `sql_error`, `io_error`; `HostError.sqliteCode` has SQLite's own.
/// Source: <https://sqlite.org/c3ref/intro.html>
public struct SQLiteConnection: ~Copyable, @unchecked Sendable {
    // @unchecked: what changes is reached through mutating methods only, so by one thread at a time.
    private var statements: [String: SQLiteStatement]
    private var uses: UInt64
    private let handle: SQLiteHandle
    let family: String
    private let guarding: SQLiteGuard?

    /// How a database is opened.
    public enum Mode: Sendable {
        /// Makes the file where it does not exist.
        case create
        case readWrite
        case readOnly
        /// As far as a damaged file can be read, to save what is in it; nothing that is written there lasts.
        case damaged
    }

    private static let greatestCache = 32

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - path: a file; beneath a directory descriptor as `/proc/self/fd/<descriptor>/<name>`.
    ///   - family: what error codes start with.
    ///   - busyTimeout: milliseconds to wait for another process.
    ///   - maximumBytes: the size the file may grow to before `full`; nil for no limit.
    ///   - guarding: what statements of others may not do; nil where all of them are the program's own.
    /// - Throws: `<family>.cannot_open`, `corrupt`, `busy`, `full`.
    public init(
        path: String, mode: Mode = .create, family: String, busyTimeout: Int32 = 5000, maximumBytes: Int64? = nil,
        guarding: SQLiteGuard? = nil
    ) throws(HostError) {
        handle = try SQLiteHandle(path, mode, family, busyTimeout: busyTimeout, maximumBytes: maximumBytes, guarding)
        self.family = family
        self.guarding = guarding
        statements = [:]
        uses = 0
    }

    /// Runs one statement.
    ///
    /// - Returns: how many rows it inserted, changed or deleted, with those that triggers and foreign keys did.
    @discardableResult
    public mutating func execute(_ sql: String, _ values: [SQLiteValue] = []) throws(HostError) -> Int {
        let before = totalChanges
        try forEachRow(sql, values) { _ in true }
        return totalChanges - before
    }

    /// The rows that were inserted, changed or deleted since the database was opened, by whatever.
    public var totalChanges: Int { Int(sqlite3_total_changes64(handle.pointer)) }

    /// The rows that the last INSERT, UPDATE or DELETE itself concerned.
    public var lastChanges: Int { Int(sqlite3_changes64(handle.pointer)) }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { sqlite3_get_autocommit(handle.pointer) == 0 }

    /// What a statement does, without running it.
    ///
    /// - Returns: the names of the columns of its rows, none where it gives none; whether it leaves the database as it is.
    public mutating func look(at sql: String) throws(HostError) -> (columns: [String], isReadOnly: Bool) {
        let statement = try prepared(sql)
        return (statement.columns, statement.isReadOnly)
    }

    /// Runs one statement and gives its rows.
    public mutating func query(_ sql: String, _ values: [SQLiteValue] = []) throws(HostError) -> [SQLiteRow] {
        var rows: [SQLiteRow] = []
        try forEachRow(sql, values) { row in
            rows.append(row)
            return true
        }
        return rows
    }

    /// Runs one statement and hands out row after row, until there are no more or `body` returns false.
    public mutating func forEachRow(
        _ sql: String, _ values: [SQLiteValue] = [], _ body: (SQLiteRow) throws(HostError) -> Bool
    ) throws(HostError) {
        let statement = try prepared(sql)
        try statement.bind(values)
        defer { statement.reset() }
        let columns = statement.columns
        while try statement.step() {
            let values = columns.indices.map { statement.value(Int32($0)) }
            guard try body(SQLiteRow(columns: columns, values: values)) else { return }
        }
    }

    /// Runs `body` as one change: all of it is kept when it returns, none of it when it throws.
    public mutating func transaction<R>(
        _ body: (inout SQLiteConnection) throws(HostError) -> R
    ) throws(HostError) -> R {
        // IMMEDIATE: a transaction that reads first and writes later could fail with BUSY however long it waits.
        try execute("BEGIN IMMEDIATE")
        do {
            let result = try body(&self)
            try execute("COMMIT")
            return result
        } catch {
            // SQLite has rolled back by itself after a full disk, say.
            if isInTransaction { _ = try? execute("ROLLBACK") }
            throw error
        }
    }

    /// As `transaction`, and within one that is open as a part of it.
    public mutating func change<R>(_ body: (inout SQLiteConnection) throws(HostError) -> R) throws(HostError) -> R {
        guard isInTransaction else { return try transaction(body) }
        try execute("SAVEPOINT apsule_change")
        do {
            let result = try body(&self)
            try execute("RELEASE apsule_change")
            return result
        } catch {
            if isInTransaction {
                _ = try? execute("ROLLBACK TO apsule_change")
                _ = try? execute("RELEASE apsule_change")
            }
            throw error
        }
    }

    /// Hands itself to `body`: for one that is there perhaps, `try database?.with(body)`.
    public mutating func with<R>(_ body: (inout SQLiteConnection) throws(HostError) -> R) throws(HostError) -> R {
        try body(&self)
    }

    /// Row id of the last insert.
    public var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle.pointer) }

    private mutating func prepared(_ sql: String) throws(HostError) -> SQLiteStatement {
        uses += 1
        let statement: SQLiteStatement
        if let known = statements[sql] {
            statement = known
        } else {
            do throws(HostError) {
                statement = try SQLiteStatement(sql, database: handle.pointer, family: family)
            } catch {
                throw refusal(error)
            }
            if statements.count >= Self.greatestCache {
                let oldest = statements.min { $0.value.lastUse < $1.value.lastUse }
                if let oldest { statements[oldest.key] = nil }
            }
            statements[sql] = statement
        }
        statement.lastUse = uses
        return statement
    }

    /// What the guard refused, by its name.
    private func refusal(_ error: HostError) -> HostError {
        guard error.sqliteCode.map({ $0 & 0xff }) == SQLITE_AUTH, let what = guarding?.refused else { return error }
        return HostError("\(family).not_allowed", "\(what) is not for this database.", details: ["what": .string(what)])
    }
}
