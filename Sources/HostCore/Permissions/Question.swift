public import ApsuleKit

/// What a call needs: one entry a permission, with the scope values that its arguments name.
public struct Need: Sendable, Hashable {
    public let permission: String
    public let level: String?
    public let scopes: [String: [String]]

    public init(permission: String, level: String? = nil, scopes: [String: [String]] = [:]) {
        (self.permission, self.level, self.scopes) = (permission, level, scopes)
    }
}

/// What the gate is asked about one call.
public struct Question: Sendable, Hashable {
    public let operation: String
    public let needs: [Need]
    /// Worked out once: for most operations when their descriptor is read, and not again at each call.
    private let hash: Int

    public init(operation: String, needs: [Need]) {
        (self.operation, self.needs) = (operation, needs)
        var hasher = Hasher()
        hasher.combine(operation)
        hasher.combine(needs)
        hash = hasher.finalize()
    }

    /// Works out from the descriptor and the arguments what a call needs.
    public init(_ operation: OperationDescriptor, _ arguments: JSON) {
        self =
            operation.fixedQuestion
            ?? Question(
                operation.fullName, permission: operation.permission, requires: operation.requires,
                scope: operation.scope,
                arguments: arguments)
    }

    init(
        _ operation: String, permission: PermissionUse?, requires: [Requirement], scope: [ScopeRule], arguments: JSON
    ) {
        var needs: [Need] = []
        if let permission {
            var scopes: [String: [String]] = [:]
            for rule in scope {
                let values = Self.values(of: rule, in: arguments)
                if !values.isEmpty { scopes[rule.scope, default: []] += values }
            }
            needs.append(Need(permission: permission.name, level: permission.level, scopes: scopes))
        }
        for requirement in requires {
            guard requirement.when.map({ !Self.found(at: $0, in: arguments).isEmpty }) ?? true else { continue }
            if !needs.contains(where: { $0.permission == requirement.permission }) {
                needs.append(Need(permission: requirement.permission))
            }
        }
        self.init(operation: operation, needs: needs)
    }

    private static func values(of rule: ScopeRule, in arguments: JSON) -> [String] {
        found(at: rule.argument, in: arguments).flatMap { value -> [String] in
            if case .array(let values) = value { values.map(rule.text) } else { [rule.text(of: value)] }
        }
    }

    /// The values at a dotted path; an array on the way is gone through element by element.
    private static func found(at path: String, in arguments: JSON) -> [JSON] {
        var values = [arguments]
        for key in path.split(separator: ".") {
            values = values.flatMap { value -> [JSON] in
                if case .array(let elements) = value { return elements.compactMap { $0[String(key)] } }
                return value[String(key)].map { [$0] } ?? []
            }
        }
        return values.filter { $0 != .null }
    }

    public var json: JSON {
        ["operation": .string(operation), "needs": .array(needs.map(\.json))]
    }

    public init?(json: JSON) {
        guard let operation = json["operation"]?.stringValue, let given = json["needs"]?.arrayValue else { return nil }
        let needs = given.compactMap(Need.init(json:))
        guard needs.count == given.count else { return nil }
        self.init(operation: operation, needs: needs)
    }

    public static func == (one: Question, other: Question) -> Bool {
        one.hash == other.hash && one.operation == other.operation && one.needs == other.needs
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension Need {
    var json: JSON {
        [
            "permission": .string(permission), "level": level.map { .string($0) } ?? .null,
            "scopes": .object(
                scopes.sorted { $0.key < $1.key }.map { .init($0.key, .array($0.value.map { .string($0) })) }),
        ]
    }

    init?(json: JSON) {
        guard let permission = json["permission"]?.stringValue else { return nil }
        var scopes: [String: [String]] = [:]
        for member in json["scopes"]?.members ?? [] {
            scopes[member.key] = member.value.arrayValue?.compactMap(\.stringValue) ?? []
        }
        self.init(permission: permission, level: json["level"]?.stringValue, scopes: scopes)
    }
}

/// The answer to a question.
public enum Verdict: Sendable {
    /// `once`: for this call only; else until it is revoked or expires (milliseconds of the wall clock).
    case allowed(once: Bool, expires: Int64?)
    /// `permission.denied` or `permission.revoked`, with the rule that decided and what would change it.
    case denied(HostError)
}

/// A permission that was given and is no more.
public struct Revocation: Sendable {
    public let permission: String

    public init(permission: String) { self.permission = permission }

    public var error: HostError {
        HostError(
            "permission.revoked", "The permission \(permission) was revoked.",
            details: ["permission": .string(permission)])
    }

    func touches(_ question: Question) -> Bool { question.needs.contains { $0.permission == permission } }
}
