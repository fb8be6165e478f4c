public import ApsuleKit

/// What a project declares of one permission in `app.json`.
///
/// `true`, a level, or `{"level": …, "<scope>": […], "operations": {…}, "reason": "…"}`.
public struct Declaration: Sendable, Hashable {
    public var level: String?
    /// Values each scope is limited to; a scope that is not named here is not limited, an empty list allows nothing.
    public var scopes: [String: [String]] = [:]
    /// Operations that are switched off or on by name; empty: all of them.
    public var operations: [String: Bool] = [:]
    public var reason: String?

    public init(level: String? = nil) { self.level = level }

    init?(_ member: JSON.Member, reader: ManifestReader, catalogue: PermissionCatalogue) throws(HostError) {
        let key = "permissions.\(member.key)"
        guard let permission = catalogue[member.key] else {
            let nearest = Suggestion.nearest(to: member.key, among: catalogue.names)
            let hint = nearest.map { ", did you mean \($0)?" } ?? ""
            throw reader.error(
                "manifest.unknown_permission", key, "is no permission\(hint)",
                extra: nearest.map { [.init("suggestion", .string($0))] } ?? [])
        }
        switch member.value {
        case .bool(true): break
        case .bool(false): return nil
        case .string(let level): self.level = level
        case .object(let members):
            for entry in members {
                switch entry.key {
                case "level": level = entry.value.stringValue
                case "reason": reason = entry.value.stringValue
                case "operations":
                    for operation in entry.value.members ?? [] { operations[operation.key] = operation.value.boolValue ?? false }
                default:
                    guard permission.scopes.contains(entry.key), let values = entry.value.arrayValue else {
                        throw reader.error(
                            "manifest.invalid", "\(key).\(entry.key)",
                            "must be a list, and one of: level, reason, operations\(permission.scopes.map { ", " + $0 }.joined())")
                    }
                    scopes[entry.key] = values.compactMap(\.stringValue)
                }
            }
        default: throw reader.error("manifest.invalid", key, "must be true, a level or an object")
        }
        if let level, !permission.levels.contains(level) {
            let levels = permission.levels.isEmpty ? "has no levels" : "must be one of \(permission.levels.joined(separator: ", "))"
            throw reader.error("manifest.invalid", key, "level \(levels)")
        }
    }

    public var json: JSON {
        var json: JSON = [:]
        json.set("level", level.map { .string($0) })
        for (scope, values) in scopes.sorted(by: { $0.key < $1.key }) { json.set(scope, .array(values.map { .string($0) })) }
        if !operations.isEmpty {
            json.set("operations", .object(operations.sorted { $0.key < $1.key }.map { .init($0.key, .bool($0.value)) }))
        }
        json.set("reason", reason.map { .string($0) })
        return json
    }
}
