internal import ApsuleKit

/// The permission that an operation needs, and the level of it.
public struct PermissionUse: Sendable, Hashable {
    public let name: String
    public let level: String?
    /// The scopes that entries of this permission may limit: `services`, `hosts` and the like.
    public let scopes: [String]

    /// `"storage"`, or `{"name": "network", "scopes": ["hosts"], "level": "…"}`; null for none.
    init?(_ reader: DescriptorReader, _ key: String) throws(HostError) {
        switch reader.json[key] {
        case nil, .null: return nil
        case .string(let name):
            (self.name, scopes, level) = (name, [], try reader.optionalString("level"))
        default:
            let child = try reader.child(key)
            name = try child.string("name")
            scopes = try child.strings("scopes")
            level = child.json["level"] == nil ? try reader.optionalString("level") : try child.optionalString("level")
        }
    }

    init(name: String) { (self.name, level, scopes) = (name, nil, []) }

    /// The family's permission at an operation's own level.
    init(_ inherited: PermissionUse, level: String) {
        (name, scopes, self.level) = (inherited.name, inherited.scopes, level)
    }
}

/// A further permission of an operation, needed always or where an argument is given.
public struct Requirement: Sendable, Hashable {
    /// The path of the argument that makes it necessary: `downloadTo`, `body.path`.
    public let when: String?
    public let permission: String

    static func read(_ reader: DescriptorReader) throws(HostError) -> [Requirement] {
        var all: [Requirement] = []
        for index in 0..<(try reader.array("requires").count) {
            let entry = try reader.element("requires", index)
            all.append(Requirement(when: try entry.optionalString("when"), permission: try entry.string("permission")))
        }
        return all
    }
}

/// Which argument is checked against which scope, and how the two are compared.
public struct ScopeRule: Sendable, Hashable {
    /// `equal`: the text as it is; `uuid`: any spelling of one; `origin`: a URL or host, of which scheme, host and port
    /// count.
    public enum Match: String, Sendable { case equal, origin, uuid }

    public let scope: String
    /// A path into the arguments; an array is checked element by element.
    public let argument: String
    public let match: Match

    static func read(_ reader: DescriptorReader, permission: PermissionUse?) throws(HostError) -> [ScopeRule] {
        var rules: [ScopeRule] = []
        for member in try reader.members("scope", optional: true) {
            let entry = try reader.child("scope").child(member.key)
            guard permission?.scopes.contains(member.key) == true else {
                throw entry.error("", "is no scope of the operation's permission")
            }
            rules.append(
                ScopeRule(
                    scope: member.key, argument: try entry.string("argument"),
                    match: try entry.choice("match", Match.self) ?? .equal))
        }
        return rules
    }
}
