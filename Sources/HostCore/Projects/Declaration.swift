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
            for entry in members { try set(entry, permission, reader) }
        default: throw reader.error("manifest.invalid", key, "must be true, a level or an object")
        }
        if let level, !permission.levels.contains(level) {
            let levels =
                permission.levels.isEmpty
                ? "has no levels" : "must be one of \(permission.levels.joined(separator: ", "))"
            throw reader.error("manifest.invalid", key, "level \(levels)")
        }
    }

    /// One member of a declaration that is an object.
    ///
    /// What is of the wrong type must not count as "not limited".
    private mutating func set(
        _ entry: JSON.Member, _ permission: PermissionCatalogue.Permission, _ reader: ManifestReader
    ) throws(HostError) {
        let key = "permissions.\(permission.name).\(entry.key)"
        switch (entry.key, entry.value) {
        case ("level", .string(let level)): self.level = level
        case ("reason", .string(let reason)): self.reason = reason
        case ("level", _), ("reason", _): throw reader.error("manifest.invalid", key, "must be a string")
        case ("operations", .object(let members)):
            for member in members {
                guard let isOn = member.value.boolValue else {
                    throw reader.error("manifest.invalid", "\(key).\(member.key)", "must be true or false")
                }
                operations[member.key] = isOn
            }
        case ("operations", _):
            throw reader.error("manifest.invalid", key, "must be an object: {\"\(permission.name).name\": true}")
        case (let scope, .array(let values)) where permission.scopes.contains(scope):
            scopes[scope] = []
            for value in values {
                guard let text = value.stringValue else {
                    throw reader.error("manifest.invalid", key, "must hold strings only")
                }
                if let problem = ScopeMatch(scope, of: permission.name).problem(text) {
                    throw reader.error("manifest.invalid", key, "\(problem), and not \(SafeText.escape(text))")
                }
                scopes[scope]?.append(text)
            }
        default:
            let keys = (["level", "reason", "operations"] + permission.scopes)
            let nearest = Suggestion.nearest(to: entry.key, among: keys).map { ", did you mean \($0)?" } ?? ""
            throw reader.error(
                "manifest.invalid", key,
                permission.scopes.contains(entry.key)
                    ? "must be a list" : "is none of \(keys.joined(separator: ", "))\(nearest)")
        }
    }

    public var json: JSON {
        var json: JSON = [:]
        json.set("level", level.map { .string($0) })
        for (scope, values) in scopes.sorted(by: { $0.key < $1.key }) {
            json.set(scope, .array(values.map { .string($0) }))
        }
        if !operations.isEmpty {
            json.set(
                "operations", .object(operations.sorted { $0.key < $1.key }.map { .init($0.key, .bool($0.value)) }))
        }
        json.set("reason", reason.map { .string($0) })
        return json
    }
}
