import ApsuleKit
import DatabasePlugin
import Foundation
import TestHost
import Testing

/// What statements may not do, and what goes wrong around them.
@Suite struct GuardTests {
    let project: TestProject
    let host: TestHost

    init() throws {
        project = try TestProject()
        host = try TestHost("database", DatabasePlugin.entry, project: project)
    }

    private func refusal(_ sql: String, _ parameters: JSON = [], of operation: String = "execute") async -> HostError? {
        await failure { try await host.call(operation, ["statement": .string(sql), "parameters": parameters]) }
    }

    private func execute(_ sql: String, _ parameters: JSON = []) async throws {
        try await host.call("execute", ["statement": .string(sql), "parameters": parameters])
    }

    @Test(arguments: [
        "ATTACH 'PLACE/other.db' AS other", "ATTACH 'file:PLACE/other.db?mode=rwc' AS other",
        "ATTACH 'PLACE' || '/other.db' AS other", "ATTACH ? AS other", "VACUUM INTO 'PLACE/other.db'",
        "SELECT load_extension('PLACE/other.so')", "SELECT fts3_tokenizer('simple', x'00')",
        "PRAGMA temp_store_directory = 'PLACE'", "PRAGMA data_store_directory = 'PLACE'", "PRAGMA writable_schema = ON",
        "PRAGMA trusted_schema = ON", "PRAGMA journal_mode = OFF", "PRAGMA journal_mode(DELETE)",
        "PRAGMA synchronous = OFF", "PRAGMA mmap_size = 100000000", "PRAGMA max_page_count = 9999999",
        "PRAGMA locking_mode = EXCLUSIVE", "PRAGMA temp_store = FILE", "PRAGMA hard_heap_limit = 1",
        "PRAGMA key = 'x'", "PRAGMA database_list", "PRAGMA wal_checkpoint", "PRAGMA busy_timeout = 0",
        "CREATE VIRTUAL TABLE files USING fsdir('/')", "CREATE VIRTUAL TABLE d USING dbstat",
        "SELECT * FROM pragma_database_list", "DETACH main",
    ]) func nothingReachesBeyondTheDatabase(_ statement: String) async throws {
        let sql = statement.replacing("PLACE", with: project.files)
        let parameters: JSON = sql.contains("?") && !sql.contains("mode") ? [.string("\(project.files)/other.db")] : []
        let error = await refusal(sql, parameters)
        let codes: Set = ["database.not_allowed", "database.sql_error"]
        #expect(error.map { codes.contains($0.code) } == true, "\(error?.code ?? "it succeeded")")
        #expect(try project.names == [])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: project.data).allSatisfy { $0.hasPrefix("database.db") }
        )
        try await execute("CREATE TABLE t (n)")
    }

    @Test(arguments: [
        "UPDATE sqlite_master SET sql = ''", "INSERT INTO sqlite_master VALUES ('table', 'a', 'a', 0, '')",
        "DROP TABLE sqlite_master", "CREATE TABLE sqlite_mine (n)", "DELETE FROM docs_data",
    ]) func theSchemaIsNotWrittenByHand(_ sql: String) async throws {
        try await execute("CREATE VIRTUAL TABLE docs USING fts5(body)")
        #expect(await refusal(sql)?.code == "database.sql_error")
    }

    @Test(arguments: [
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c",
        "SELECT count(*) AS n FROM pragma_function_list a, pragma_function_list b, pragma_function_list c, pragma_function_list d, pragma_function_list e",
    ]) func whatNeverEndsIsCancelled(_ sql: String) async throws {
        let call = host.start("query", ["statement": .string(sql)])
        let waiting = host.start("query", ["statement": "SELECT 1 AS a"])
        try await Task.sleep(for: .milliseconds(200))
        #expect(!call.hasEnded)
        call.cancel()
        #expect(await failure { try await call.answer() }?.code == "host.cancelled")
        #expect(try await waiting.answer().json == [["a": 1]])
    }

    @Test func whatIsTooLarge() async throws {
        #expect(await refusal("SELECT zeroblob(100000000) AS a", of: "query")?.code == "database.value_too_large")
        #expect(await refusal("SELECT hex(zeroblob(4000000)) AS a", of: "query")?.code == "database.result_too_large")
        let many = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c"
        let error = await refusal(many, of: "query")
        #expect(error?.code == "database.result_too_large" && (error?.details["row"]?.intValue ?? 0) > 100_000)
        let deep = "SELECT " + String(repeating: "(", count: 5000) + "1" + String(repeating: ")", count: 5000)
        #expect(await refusal(deep, of: "query")?.code == "database.sql_error")
        #expect(
            await refusal("SELECT " + String(repeating: "1,", count: 3000) + "1", of: "query")?.code
                == "database.sql_error")
    }

    @Test func theOwnersLimitHolds() async throws {
        let small = try TestHost("database", DatabasePlugin.entry, settings: ["maximumBytes": 200_000])
        _ = try await small.call("execute", ["statement": "CREATE TABLE t (v)"])
        let sets = JSON.array((0..<100).map { _ in [.string(String(repeating: "x", count: 10_000))] })
        let error = await failure {
            try await small.call("execute", ["statement": "INSERT INTO t VALUES (?)", "parameters": sets])
        }
        #expect(error?.code == "database.full")
        #expect(try await small.call("query", ["statement": "SELECT count(*) AS n FROM t"]) == [["n": 0]])
    }

    @Test func whatIsNoDatabaseIsLeftAsItIs() async throws {
        let path = project.data + "/database.db"
        let text = Data(String(repeating: "my diary ", count: 200).utf8)
        try text.write(to: URL(fileURLWithPath: path))
        #expect(await refusal("SELECT 1 AS a", of: "query")?.code == "database.corrupt")
        #expect(FileManager.default.contents(atPath: path) == text)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: project.files + "/outside.db")
        #expect(await refusal("SELECT 1 AS a", of: "query")?.code == "database.cannot_open")
        #expect(try project.names == [])
        try FileManager.default.removeItem(atPath: path)
        // A log that somebody planted beside a new file is not taken for its own.
        try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: path + "-wal"))
        try await execute("CREATE TABLE t (n)")
        #expect(try await host.call("query", ["statement": "SELECT count(*) AS n FROM t"]) == [["n": 0]])
    }

    @Test func anotherProcessWaitsForATransaction() async throws {
        try await execute("CREATE TABLE t (n)")
        let other = try PluginProcess("database", project)
        _ = try await other.call("execute", ["statement": "BEGIN IMMEDIATE"])
        _ = try await other.call("execute", ["statement": "INSERT INTO t VALUES (1)"])
        #expect(await refusal("INSERT INTO t VALUES (2)")?.code == "database.busy")
        #expect(try await host.call("query", ["statement": "SELECT n FROM t"]) == [])
        // Who dies has changed nothing, and holds nothing.
        other.kill()
        try await execute("INSERT INTO t VALUES (3)")
        #expect(try await host.call("query", ["statement": "SELECT n FROM t"]) == [["n": 3]])
    }

    @Test func whatWasAcknowledgedSurvivesAKill() async throws {
        try await execute("CREATE TABLE t (n INTEGER PRIMARY KEY, v TEXT)")
        host.close()
        var acknowledged = 0
        for round in 0..<5 {
            let process = try PluginProcess("database", project)
            for index in acknowledged..<(acknowledged + 300) {
                try process.send(
                    "execute",
                    ["statement": "INSERT OR REPLACE INTO t VALUES (?, ?)", "parameters": [.int(Int64(index)), "v"]])
            }
            let target = acknowledged + 1 + round * 20
            while acknowledged < target {
                let answer = try #require(try await process.next())
                try #require(answer["result"]?["changes"] == 1)
                acknowledged += 1
            }
            process.kill()
            let next = try TestHost("database", DatabasePlugin.entry, project: project)
            let found = try await next.call(
                "query",
                ["statement": "SELECT count(*) AS n FROM t WHERE n < ?", "parameters": [.int(Int64(acknowledged))]])
            #expect(found == [["n": .int(Int64(acknowledged))]])
        }
    }
}
