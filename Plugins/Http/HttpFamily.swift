import ApsuleKit
import ApsuleTransport
public import CApsule

/// `host.http`: requests over libcurl.
final class HttpFamily: Family {
    static let name = "http"

    static let operations: [Operation<HttpFamily>] = [
        .task("request", request)
    ]

    let transport: HTTPTransport

    init(_ project: Project) { transport = HTTPTransport(project, family: Self.name) }
}

@c(apsule_plugin_http)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(HttpFamily.self)
