import ApsuleKit
import ApsuleSQLite
import Foundation
import Synchronization
import Testing

/// A folder of its own for each test, gone when the test ends.
final class Folder {
    let path = FileManager.default.temporaryDirectory.appending(path: "apsule-sqlite-\(UUID())").path
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func file(_ name: String = "test.db") -> String { "\(path)/\(name)" }
}

final class Shared: Sendable {
    let database: Mutex<SQLiteConnection>
    init(_ database: consuming sending SQLiteConnection) { self.database = Mutex(database) }
}

func code(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch {
        return (error as? HostError)?.code ?? "\(error)"
    }
}

@Suite struct SQLiteTests {
    let folder: Folder
    init() throws { folder = try Folder() }

    private func open(_ mode: SQLiteConnection.Mode = .create, maximumBytes: Int64? = nil) throws -> SQLiteConnection {
        try SQLiteConnection(path: folder.file(), mode: mode, family: "test", maximumBytes: maximumBytes)
    }

    @Test(arguments: [
        SQLiteValue.null, .int(.min), .int(.max), .int(9_007_199_254_740_993), .double(0.1), .text(""), .text("a\0b"),
        .text("😀 e\u{301}"), .blob([]), .blob([0, 255, 0]),
    ])
    func valuesComeBackAsTheyWere(_ value: SQLiteValue) throws {
        var database = try open()
        try database.execute("CREATE TABLE t (v)")
        #expect(try database.execute("INSERT INTO t VALUES (?)", [value]) == 1)
        let rows = try database.query("SELECT v FROM t")
        #expect(rows.map(\.values) == [[value]])
        #expect(rows.first?["v"] == value)
        #expect(rows.first?["w"] == nil)
    }

    @Test func durableAndSafeBesideOthers() throws {
        var database = try open()
        #expect(try database.query("PRAGMA journal_mode").first?[0] == "wal")
        #expect(try database.query("PRAGMA synchronous").first?[0] == 2)
        #expect(try database.query("PRAGMA foreign_keys").first?[0] == 1)
        #expect(try database.query("PRAGMA trusted_schema").first?[0] == 0)
    }

    @Test func aTransactionIsAllOrNothing() throws {
        var database = try open()
        try database.execute("CREATE TABLE t (v UNIQUE)")
        let failed = code {
            try database.transaction { (database) throws(HostError) in
                try database.execute("INSERT INTO t VALUES (1)")
                try database.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(failed == "test.constraint")
        #expect(try database.query("SELECT v FROM t").isEmpty)
        let sum = try database.transaction { (database) throws(HostError) in
            try database.execute("INSERT INTO t VALUES (1), (2)")
            return try database.query("SELECT sum(v) FROM t").first?[0]
        }
        #expect(sum == 3)
        #expect(database.lastInsertedRow == 2)
    }

    @Test func anotherProcessIsWaitedForAndThenNamed() throws {
        var one = try open()
        try one.execute("CREATE TABLE t (v)")
        var other = try SQLiteConnection(path: folder.file(), family: "test", busyTimeout: 50)
        try one.execute("BEGIN IMMEDIATE")
        #expect(code { try other.execute("INSERT INTO t VALUES (1)") } == "test.busy")
        try one.execute("COMMIT")
        #expect(code { try other.execute("INSERT INTO t VALUES (1)") } == nil)
    }

    @Test func manyOpenOneNewFileAtOnce() async throws {
        let path = folder.file()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    var database = try SQLiteConnection(path: path, family: "test", busyTimeout: 20_000)
                    try database.migrate([["CREATE TABLE t (v)"], ["INSERT INTO t VALUES (100)"]])
                    for _ in 0..<20 { try database.execute("INSERT INTO t VALUES (?)", [.int(Int64(index))]) }
                }
            }
            try await group.waitForAll()
        }
        var database = try open()
        #expect(try database.query("SELECT count(*) FROM t").first?[0] == 161)
    }

    @Test func aFullDatabaseLosesNothing() throws {
        var database = try open(maximumBytes: 64 * 1024)
        try database.execute("CREATE TABLE t (v)")
        let block = SQLiteValue.blob([UInt8](repeating: 7, count: 8 * 1024))
        var written: Int64 = 0
        let full = code {
            while true {
                try database.execute("INSERT INTO t VALUES (?)", [block])
                written += 1
            }
        }
        #expect(full == "test.full")
        #expect(written > 2)
        #expect(try database.query("SELECT count(*) FROM t").first?[0] == .int(written))
        try database.execute("DELETE FROM t WHERE rowid = 1")
        #expect(code { try database.execute("INSERT INTO t VALUES (?)", [block]) } == nil)
    }

    @Test(arguments: ["", ";", "-- nothing", "SELECT 1; SELECT 2", "SELEKT", "SELECT ?", "SELECT 1; x"])
    func oneWholeStatementIsTaken(_ sql: String) throws {
        var database = try open()
        #expect(code { _ = try database.query(sql) } == "test.sql_error")
        #expect(try database.query("SELECT 1 ; ").first?[0] == 1)
    }

    @Test func whatIsNoDatabaseIsSaid() throws {
        #expect(code { _ = try self.open(.readWrite) } == "test.cannot_open")
        try Data(repeating: 65, count: 8192).write(to: URL(fileURLWithPath: folder.file()))
        do {
            _ = try open()
            Issue.record("garbage was opened")
        } catch {
            let error = try #require(error as? HostError)
            #expect(error.code == "test.corrupt")
            #expect(error.isSQLiteCorruption)
            #expect(error.sqliteCode == 26)
        }
        #expect(code { _ = try self.open(.readOnly) } == "test.corrupt")
    }

    @Test func aReadOnlyConnectionChangesNothing() throws {
        do {
            var database = try open()
            try database.execute("CREATE TABLE t (v)")
        }
        var database = try open(.readOnly)
        #expect(try database.query("SELECT * FROM t").isEmpty)
        #expect(code { try database.execute("INSERT INTO t VALUES (1)") } == "test.read_only")
    }

    @Test func statementsAreKeptWithinBounds() throws {
        var database = try open()
        for number in 0..<100 { #expect(try database.query("SELECT \(number)").first?[0] == .int(Int64(number))) }
    }

    @Test func anEndlessResultCanBeLeft() throws {
        var database = try open()
        let endless = "WITH RECURSIVE n(v) AS (VALUES (0) UNION ALL SELECT v + 1 FROM n) SELECT v FROM n"
        var seen: [SQLiteValue] = []
        try database.forEachRow(endless) { row in
            seen.append(row[0])
            return seen.count < 5
        }
        #expect(seen == [0, 1, 2, 3, 4])
        #expect(try database.execute("CREATE TABLE t (v)") == 0)
    }

    @Test func aNewerFileIsLeftAlone() throws {
        var database = try open()
        try database.migrate([["CREATE TABLE t (v)"], ["ALTER TABLE t ADD w"]])
        try database.migrate([["CREATE TABLE t (v)"], ["ALTER TABLE t ADD w"]])
        #expect(code { try database.migrate([["CREATE TABLE t (v)"]]) } == "test.newer_version")
        #expect(code { try database.migrate([["x"], ["x"], ["CREATE TABLE u (v)", "NONSENSE"]]) } == "test.sql_error")
        #expect(code { try database.execute("SELECT * FROM u") } == "test.sql_error")
        #expect(try database.query("PRAGMA user_version").first?[0] == 2)
    }

    @Test func threadsShareItBehindAMutex() async throws {
        let shared = Shared(try open())
        try shared.database.withLock { _ = try $0.execute("CREATE TABLE t (v)") }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { _ = try? shared.database.withLock { try $0.execute("INSERT INTO t VALUES (1)") } }
            }
        }
        let count = try shared.database.withLock { try $0.query("SELECT count(*) FROM t").first?[0] }
        #expect(count == 50)
    }
}
