import ApsuleKit
import ApsuleSQLite

extension DatabaseFamily {
    /// Runs a statement, with one set of parameters or with each of several as one change.
    ///
    /// - Parameter call: `{statement: string, parameters?: [value…] or [[value…]…]}`, see `Parameter`.
    /// - Returns: `{changes: integer, lastInsertRowId: integer or null, rows?: [object…]}`; rows where one set of
    ///   parameters was given and the statement has some (RETURNING).
    /// - Throws: `database.sql_error`, `constraint`, `not_allowed`, `busy`, `full`, `result_too_large`, …
    /// - Source: <https://sqlite.org/lang.html>
    func execute(_ call: Call) throws -> Message {
        let sql: String = try call["statement"]
        let parameters = try Parameters(call.arguments.child("parameters"))
        return try database.use(call) { (connection) throws(HostError) in
            var rows = Rows()
            var changes = 0
            switch parameters {
            case .one(let values):
                let (columns, isReadOnly) = try connection.look(at: sql)
                if !columns.isEmpty { try rows.name(columns) }
                changes = try Self.changes(&connection) { (connection) throws(HostError) in
                    try connection.forEachRow(sql, values) { (row) throws(HostError) in
                        try rows.add(row)
                        return true
                    }
                }
                if isReadOnly { changes = 0 }
            case .several(let sets):
                // Prepared before anything is changed: nothing runs where nothing could.
                _ = try connection.look(at: sql)
                changes = try connection.change { (connection) throws(HostError) in
                    var sum = 0
                    for (index, values) in sets.enumerated() {
                        do throws(HostError) {
                            sum += try Self.changes(&connection) { (connection) throws(HostError) in
                                try connection.forEachRow(sql, values) { _ in true }
                            }
                        } catch {
                            throw error.inSet(index)
                        }
                    }
                    return sum
                }
            }
            let row = connection.lastInsertedRow
            rows.message.json = .object(
                [.init("changes", .int(Int64(changes))), .init("lastInsertRowId", row == 0 ? .null : .int(row))]
                    + (rows.hasColumns ? [.init("rows", .array(rows.objects))] : []))
            return rows.message
        }
    }

    /// Reads rows.
    ///
    /// - Parameter call: `{statement: string, parameters?: [value…]}`.
    /// - Returns: an array of an object a row, with its columns in order.
    /// - Throws: `database.not_a_query` for what could change something or has no rows; `duplicate_column`,
    ///   `result_too_large`, `not_finite`, and what `execute` throws.
    func query(_ call: Call) throws -> Message {
        let sql: String = try call["statement"]
        guard case .one(let values) = try Parameters(call.arguments.child("parameters")) else {
            throw HostError.invalidArgument("parameters", expected: "one set of values", got: "several")
        }
        return try database.use(call) { (connection) throws(HostError) in
            let (columns, isReadOnly) = try connection.look(at: sql)
            guard isReadOnly, !columns.isEmpty else {
                throw HostError("database.not_a_query", "The statement reads no rows, or changes something.")
            }
            var rows = Rows()
            try rows.name(columns)
            try connection.forEachRow(sql, values) { (row) throws(HostError) in
                try rows.add(row)
                return true
            }
            rows.message.json = .array(rows.objects)
            return rows.message
        }
    }

    /// What a statement itself changed: SQLite keeps the last number where one changes nothing.
    private static func changes(
        _ connection: inout SQLiteConnection, _ body: (inout SQLiteConnection) throws(HostError) -> Void
    ) throws(HostError) -> Int {
        let before = connection.totalChanges
        try body(&connection)
        return connection.totalChanges == before ? 0 : connection.lastChanges
    }
}

extension HostError {
    fileprivate func inSet(_ index: Int) -> HostError {
        var error = self
        error.message = "parameters[\(index)]: \(message)"
        error.details.set("index", .int(Int64(index)))
        return error
    }
}
