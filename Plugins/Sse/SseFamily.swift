import ApsuleKit
import ApsuleTransport
public import CApsule

/// `host.sse`: server-sent events over libcurl.
final class SseFamily: Family {
    static let name = "sse"

    static let operations: [Operation<SseFamily>] = [
        .stream("connect", connect),
        .call("close", close),
    ]

    let transport: HTTPTransport
    let streams = StreamTable()

    init(_ project: Project) { transport = HTTPTransport(project, family: Self.name) }
}

@c(apsule_plugin_sse)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(SseFamily.self)
