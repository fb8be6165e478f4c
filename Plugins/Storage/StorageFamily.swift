import ApsuleKit
public import CApsule

/// `host.storage`: JSON values under keys, in one SQLite database a project.
final class StorageFamily: Family {
    static let name = "storage"

    static let operations: [Operation<StorageFamily>] = [
        .call("get", get),
        .call("set", set),
        .call("delete", delete),
        .call("list", list),
    ]

    let store: Store

    init(_ project: Project) { store = Store(project) }

    func close() { store.close() }
}

@c(apsule_plugin_storage)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(StorageFamily.self)
