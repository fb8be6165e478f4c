import ApsuleKit
import DatabasePlugin
import Foundation
import TestHost
import Testing

@Suite struct DatabaseTests {
    let project: TestProject
    let host: TestHost

    init() throws {
        project = try TestProject()
        host = try TestHost("database", DatabasePlugin.entry, project: project)
    }

    @discardableResult
    private func execute(_ sql: String, _ parameters: JSON = []) async throws -> JSON {
        try await host.call("execute", ["statement": .string(sql), "parameters": parameters])
    }

    private func query(_ sql: String, _ parameters: JSON = []) async throws -> JSON {
        try await host.call("query", ["statement": .string(sql), "parameters": parameters])
    }

    private func refusal(_ sql: String, _ parameters: JSON = [], of operation: String = "execute") async -> HostError? {
        await failure { try await host.call(operation, ["statement": .string(sql), "parameters": parameters]) }
    }

    @Test func changesAreCountedAndRowsComeBack() async throws {
        #expect(try await execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")["changes"] == 0)
        #expect(
            try await execute("INSERT INTO t (name) VALUES (?)", ["ä"]) == ["changes": 1, "lastInsertRowId": 1])
        #expect(
            try await execute("INSERT INTO t VALUES (9007199254740993, ?) RETURNING id, name", ["b"]) == [
                "changes": 1, "lastInsertRowId": 9_007_199_254_740_993,
                "rows": [["id": 9_007_199_254_740_993, "name": "b"]],
            ])
        #expect(try await execute("UPDATE t SET name = 'c'")["changes"] == 2)
        #expect(try await execute("UPDATE t SET name = 'c' WHERE id = 0")["changes"] == 0)
        #expect(try await execute("CREATE INDEX i ON t (name)")["changes"] == 0)
        #expect(
            try await query("SELECT id, name FROM t ORDER BY id DESC LIMIT ?", [1])
                == [["id": 9_007_199_254_740_993, "name": "c"]])
        #expect(try await query("SELECT * FROM t WHERE 0") == [])
        #expect(try await execute("DELETE FROM t")["changes"] == 2)
    }

    @Test func everyValueComesBackAsItWas() async throws {
        try await execute("CREATE TABLE v (v)")
        let values: [JSON] = [
            nil, 0, .int(.max), .int(.min), 0.1, -1.5e300, "", "Grüße \u{0}\u{1F600}", "\u{e9}", "e\u{301}",
        ]
        for value in values {
            try await execute("DELETE FROM v")
            try await execute("INSERT INTO v VALUES (?)", [value])
            #expect(try await query("SELECT v FROM v") == [["v": value]], "\(value.text)")
        }
        try await execute("DELETE FROM v")
        try await execute("INSERT INTO v VALUES (?), (?)", [true, 2.0])
        #expect(
            try await query("SELECT v, typeof(v) AS t FROM v") == [
                ["v": 1, "t": "integer"], ["v": 2, "t": "integer"],
            ])
        let blob = host.start(
            "execute", ["statement": "INSERT INTO v VALUES (?)", "parameters": [["$blob": 0]]], blobs: [[0, 255, 7]])
        _ = try await blob.answer()
        let answer = try await host.start(
            "query", ["statement": "SELECT v, length(v) AS n FROM v WHERE typeof(v) = 'blob'"]
        ).answer()
        #expect(answer.json == [["v": ["$blob": 0], "n": 3]] && answer.blobs == [[0, 255, 7]])
        for bad in [["a": 1], [[1]]] as [JSON] where bad.arrayValue == nil {
            let error = await refusal("INSERT INTO v VALUES (?)", [bad])
            #expect(error?.code == "host.invalid_argument" && error?.details["path"] == "parameters[0]")
        }
    }

    @Test func setsOfParametersAreOneChange() async throws {
        try await execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
        let sets = JSON.array((1...1000).map { [.int(Int64($0)), .int(Int64($0 * 2))] })
        #expect(try await execute("INSERT INTO t VALUES (?, ?)", sets) == ["changes": 1000, "lastInsertRowId": 1000])
        let error = await refusal("INSERT INTO t VALUES (?, ?)", [[2001, 1], [2002, nil], [2003, 1]])
        #expect(error?.code == "database.constraint" && error?.details["index"] == 1)
        #expect(try await query("SELECT count(*) AS n, max(id) AS m FROM t") == [["n": 1000, "m": 1000]])
        #expect(await refusal("INSERT INTO t VALUES (?, ?)", [[5000], [5001, 1]])?.code == "database.sql_error")
    }

    @Test func aTransactionLastsOverCalls() async throws {
        try await execute("CREATE TABLE t (n)")
        try await execute("BEGIN")
        try await execute("INSERT INTO t VALUES (?)", [[1], [2]])
        #expect(await refusal("INSERT INTO nothing VALUES (1)")?.code == "database.sql_error")
        #expect(await refusal("INSERT INTO t VALUES (?)", [[3], [1, 2]])?.code == "database.sql_error")
        #expect(try await query("SELECT n FROM t") == [["n": 1], ["n": 2]])
        try await execute("ROLLBACK")
        #expect(try await query("SELECT n FROM t") == [])
        #expect(await refusal("COMMIT")?.code == "database.sql_error")
        try await execute("BEGIN")
        try await execute("INSERT INTO t VALUES (7)")
        // The project ends.
        host.close()
        let next = try TestHost("database", DatabasePlugin.entry, project: project)
        #expect(try await next.call("query", ["statement": "SELECT n FROM t"]) == [])
    }

    @Test(arguments: [
        "SELECT 1; SELECT 2", "SELECT 1;; SELECT 2", "SELECT 1; /* a */ DELETE FROM t", "", "  ", "-- nothing", ";",
        "SELECT 1 \u{0} SELECT 2", "SELEC 1", "SELECT nosuchcolumn", "SELECT \"text\"", "SELECT ?", "SELECT 'a",
        "BEGIN; COMMIT",
    ]) func noMoreAndNoLessThanOneStatement(_ sql: String) async throws {
        #expect(await refusal(sql, of: "query")?.code == "database.sql_error")
        #expect(await refusal(sql)?.code == "database.sql_error")
    }

    @Test(arguments: ["SELECT 1 AS a;", "SELECT 1 AS a; -- done", "/* first */ SELECT 1 AS a ; ; /* last */ \n"])
    func commentsAreNoStatements(_ sql: String) async throws {
        #expect(try await query(sql) == [["a": 1]])
    }

    @Test(arguments: [
        "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1) RETURNING n", "CREATE TABLE u (n)", "BEGIN",
        "PRAGMA user_version = 3", "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "VACUUM",
    ]) func aQueryChangesNothing(_ sql: String) async throws {
        try await execute("CREATE TABLE t (n)")
        #expect(await refusal(sql, of: "query")?.code == "database.not_a_query")
        #expect(try await query("SELECT count(*) AS n FROM t") == [["n": 0]])
    }

    @Test func columnsOfOneNameAndWhatJSONDoesNotHave() async throws {
        #expect(await refusal("SELECT 1 AS a, 2 AS a", of: "query")?.code == "database.duplicate_column")
        #expect(await refusal("SELECT 9e999 AS a", of: "query")?.code == "database.not_finite")
        #expect(try await query("SELECT CAST(9e999 AS TEXT) AS a") == [["a": "Inf"]])
        #expect(try await query("SELECT 1 AS \"$blob\"") == [["$$blob": 1]])
        #expect(try await query("SELECT 0.0 / 0 AS a") == [["a": nil]])
    }

    @Test func whatSQLiteOffersIsThere() async throws {
        try await execute("CREATE VIRTUAL TABLE docs USING fts5(title, body, tokenize = 'trigram')")
        try await execute("INSERT INTO docs VALUES (?, ?)", [["Bluetooth", "a radio"], ["Wi-Fi", "another one"]])
        #expect(try await query("SELECT title FROM docs WHERE docs MATCH ?", ["tooth"]) == [["title": "Bluetooth"]])
        #expect(
            try await query("SELECT json_extract(?, '$.a[1]') AS a", [#"{"a": [1, {"b": 2}]}"#]) == [["a": #"{"b":2}"#]]
        )
        try await execute("CREATE VIRTUAL TABLE area USING rtree(id, x0, x1)")
        try await execute("INSERT INTO area VALUES (1, 0, 2)")
        #expect(try await query("SELECT id FROM area WHERE x0 <= 1 AND x1 >= 1") == [["id": 1]])
        try await execute("PRAGMA user_version = 4")
        #expect(try await query("PRAGMA user_version") == [["user_version": 4]])
        #expect(try await query("PRAGMA table_info(docs)").arrayValue?.count == 2)
        try await execute("CREATE TEMP TABLE later (n)")
        try await execute("VACUUM")
        #expect(try await query("PRAGMA integrity_check") == [["integrity_check": "ok"]])
        #expect(await refusal("PRAGMA foreign_keys", of: "query") == nil)
    }
}
