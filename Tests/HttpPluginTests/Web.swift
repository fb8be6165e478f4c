import ApsuleKit
import HttpPlugin
import TestHost
import TestWeb

/// The family beside the servers of the tests.
final class Web: Sendable {
    let server: WebServer
    let host: TestHost

    /// - Parameter trusts: whether the tests' authority is the owner's.
    init(trusts: Bool = true) throws {
        server = try WebServer()
        host = try TestHost(
            "http", HttpPlugin.entry, settings: trusts ? ["certificateAuthorities": server.authority] : .object([]))
    }

    /// A request to a path of the plain server.
    func request(_ path: String, _ arguments: JSON = .object([])) async throws -> JSON {
        try await message(path, arguments).json
    }

    func message(_ path: String, _ arguments: JSON = .object([]), blobs: [[UInt8]] = []) async throws -> Message {
        let url = JSON.string(path.hasPrefix("http") ? path : server.url(path))
        let all = JSON.object((arguments.members ?? []) + [.init("url", url)])
        return try await host.start("request", all, blobs: blobs).answer()
    }

    /// What the server got of a request to `/echo`.
    func echo(_ arguments: JSON = .object([]), blobs: [[UInt8]] = []) async throws -> Echo {
        let json = try await message("/echo", arguments, blobs: blobs).json
        return Echo(json: json["body"] ?? .null)
    }
}

struct Echo {
    let json: JSON

    var method: String? { json["method"]?.stringValue }
    var query: String? { json["query"]?.stringValue }
    var body: String { String(decoding: Base64.decode(json["body"]?.stringValue ?? "") ?? [], as: UTF8.self) }

    func header(_ name: String) -> String? {
        json["headers"]?.arrayValue?.first { $0.arrayValue?.first?.stringValue?.lowercased() == name }?.arrayValue?
            .last?
            .stringValue
    }
}

func path(content text: String, type: String) -> String { path(content: Array(text.utf8), type: type) }

func path(content bytes: [UInt8], type: String) -> String {
    let base64 = Base64.encode(bytes).replacing("+", with: "%2B")
    return "/content?type=\(type.replacing("+", with: "%2B"))&base64=\(base64)"
}
