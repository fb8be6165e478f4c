import ApsuleKit
import ApsuleTransport
public import CApsule

/// `host.cookies`: the jar that everything of a project that speaks HTTP shares.
final class CookiesFamily: Family {
    static let name = "cookies"

    static let operations: [Operation<CookiesFamily>] = [
        .call("list", list),
        .call("set", set),
        .call("delete", delete),
        .call("clear", clear),
    ]

    let jar: CookieJar
    private let transport: HTTPTransport

    init(_ project: Project) {
        transport = HTTPTransport(project, family: Self.name)
        jar = transport.cookies
    }
}

@c(apsule_plugin_cookies)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(CookiesFamily.self)
