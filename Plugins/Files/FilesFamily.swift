import ApsuleKit
public import CApsule

/// `host.files`: the files of the project, beneath its sandbox.
final class FilesFamily: Family {
    static let name = "files"

    static let operations: [Operation<FilesFamily>] = [
        .call("read", read),
        .call("write", write),
        .call("list", list),
        .call("delete", delete),
        .call("createDirectory", createDirectory),
        .call("move", move),
        .call("copy", copy),
    ]

    init(_ project: Project) {}
}

@c(apsule_plugin_files)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(FilesFamily.self)
