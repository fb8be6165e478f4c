import ApsuleKit
public import CApsule

/// `host.database`: the project's own SQLite database, by SQL.
final class DatabaseFamily: Family {
    static let name = "database"

    static let operations: [Operation<DatabaseFamily>] = [
        .call("execute", execute),
        .call("query", query),
    ]

    let database: Database

    init(_ project: Project) { database = Database(project) }

    func close() { database.close() }
}

@c(apsule_plugin_database)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(DatabaseFamily.self)
