public import ApsuleKit

/// What a host can do, as one JSON report.
///
/// Runs no plugin code.
public enum Discovery {
    public static let hostVersion = "0.1.0"
    static let platform = "linux"

    /// `{"host": {…}, "families": […]}`.
    public static func report(_ snapshot: Registry.Snapshot, query: DiscoveryQuery) -> JSON {
        [
            "host": ["version": .string(hostVersion), "abi": 1, "platform": .string(platform)],
            "families": .array(snapshot.entries.compactMap { family($0, query) }),
        ]
    }

    /// Whether an operation, or any operation of a family, can be called: it is there, trusted and not unavailable.
    public static func supports(_ snapshot: Registry.Snapshot, _ name: String) -> Bool {
        let family = String(name.prefix { $0 != "." })
        guard let entry = snapshot.entry(family), entry.isCallable, entry.status != .unavailable else { return false }
        return name == family || entry.descriptor?.operation(String(name.dropFirst(family.count + 1))) != nil
    }

    /// Whether an operation is there at all, usable on this machine or not.
    public static func isKnown(_ snapshot: Registry.Snapshot, _ name: String) -> Bool {
        snapshot.operation(name) != nil
    }

    private static func family(_ entry: Registry.Entry, _ query: DiscoveryQuery) -> JSON? {
        guard query.matches(entry) else { return nil }
        let operations = entry.descriptor?.operations.filter { query.matches($0) } ?? []
        if query.selectsOperations, operations.isEmpty { return nil }
        var json: JSON = ["family": .string(entry.family)]
        if let descriptor = entry.descriptor {
            json.set("version", .string(descriptor.version))
            json.set("summary", .string(descriptor.summary))
            json.set("backing", descriptor.backing)
        }
        json.set("provider", .string(entry.provider))
        if !entry.path.isEmpty { json.set("path", .string(entry.path)) }
        json.set("trust", .string(entry.provider == "third-party" ? "none" : "bundled"))
        json.set("status", .string(entry.status.rawValue))
        if let error = entry.error {
            json.set("code", .string(error.code))
            json.set("reason", error.details["reason"] ?? .string(error.message))
            json.set("fix", error.details["fix"])
        }
        json.set("operations", .array(operations.map(operation)))
        return json
    }

    private static func operation(_ operation: OperationDescriptor) -> JSON {
        var json: JSON = [
            "name": .string(operation.fullName), "summary": .string(operation.summary),
            "kind": .string(operation.kind.rawValue),
            "permission": operation.permission.map { .string($0.name) } ?? .null,
            "effect": .string(operation.effect.rawValue),
        ]
        if !operation.requires.isEmpty { json.set("requires", operation.json["requires"]) }
        json.set("raw", operation.raw)
        if !operation.positional.isEmpty { json.set("positional", operation.json["positional"]) }
        json.set("arguments", operation.arguments.json)
        json.set("result", operation.result ?? .null)
        json.set("events", operation.json["events"] ?? .object([]))
        json.set("final", operation.final)
        json.set("errors", .array(operation.errors.map { .string($0) }))
        return json
    }
}

/// `family:bluetooth stream:true permission:network raw:true status:ready text`: all words must fit.
public struct DiscoveryQuery: Sendable {
    private var family: String?
    private var status: String?
    private var permission: String?
    private var stream: Bool?
    private var raw: Bool?
    private var words: [String] = []

    /// - Throws: `host.invalid_argument` for a key that is not known.
    public init(_ text: String) throws(HostError) {
        for word in text.split(whereSeparator: \.isWhitespace).map(String.init) {
            guard let colon = word.firstIndex(of: ":") else {
                words.append(word.lowercased())
                continue
            }
            let value = String(word[word.index(after: colon)...])
            switch word[..<colon] {
            case "family": family = value
            case "status": status = value
            case "permission": permission = value
            case "stream": stream = value == "true"
            case "raw": raw = value == "true"
            default:
                throw .invalidArgument(
                    "query", expected: "family:, status:, permission:, stream:, raw: or plain words", got: "\"\(word)\""
                )
            }
        }
    }

    var selectsOperations: Bool { permission != nil || stream != nil || raw != nil || !words.isEmpty }

    func matches(_ entry: Registry.Entry) -> Bool {
        (family == nil || family == entry.family) && (status == nil || status == entry.status.rawValue)
    }

    func matches(_ operation: OperationDescriptor) -> Bool {
        let permissions = [operation.permission?.name].compactMap { $0 } + operation.requires.map(\.permission)
        let text = "\(operation.fullName) \(operation.summary)".lowercased()
        return (permission.map(permissions.contains) ?? true)
            && (stream.map { $0 == (operation.kind == .stream) } ?? true)
            && (raw.map { $0 == (operation.raw != nil) } ?? true) && words.allSatisfy(text.contains)
    }
}
