import ApsuleKit
import ApsuleTransport
public import CApsule

/// `host.transfer`: files down and up, with progress, over libcurl.
final class TransferFamily: Family {
    static let name = "transfer"

    static let operations: [Operation<TransferFamily>] = [
        .stream("download", download),
        .stream("upload", upload),
        .call("cancel", cancel),
    ]

    let transport: HTTPTransport
    let transfers = StreamTable()

    init(_ project: Project) { transport = HTTPTransport(project, family: Self.name) }

    /// Ends a transfer with the event `cancelled`.
    ///
    /// - Returns: {cancelled}: whether it ran.
    func cancel(_ call: Call) throws -> JSON { ["cancelled": .bool(transfers.end(try call["id"]))] }
}

@c(apsule_plugin_transfer)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(TransferFamily.self)
