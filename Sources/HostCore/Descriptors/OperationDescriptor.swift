public import ApsuleKit

/// One operation of a family, as its descriptor declares it.
public final class OperationDescriptor: Sendable {
    public enum Kind: String, Sendable { case call, stream }
    public enum Delivery: String, Sendable { case lossless, latest }
    public enum Effect: String, Sendable { case read, write, destroy }

    public let family: String
    /// Without the family: `player.play`.
    public let name: String
    /// With the family: `music.player.play`.
    public let fullName: String
    public let summary: String
    public let kind: Kind
    public let positional: [String]
    public let arguments: Schema
    public let result: JSON?
    public let events: [(name: String, schema: JSON)]
    /// The schema of a stream's final value.
    public let final: JSON?
    public let delivery: Delivery
    public let handle: (id: String, methods: [(name: String, operation: String)])?
    public let permission: PermissionUse?
    public let requires: [Requirement]
    /// Which argument a scope of the permission is checked against.
    public let scope: [ScopeRule]
    public let effect: Effect
    /// The codes it may fail with, besides the host's own.
    public let errors: [String]
    let errorTexts: [String: ErrorText]
    /// Milliseconds; for a stream, of its opening.
    ///
    /// 0: none.
    public let timeout: (default: Int, maximum: Int)
    public let redact: [String]
    public let isInline: Bool
    public let raw: JSON?
    /// Top-level arguments that name a path beneath the project's files, and whether they may be written.
    public let paths: [(name: String, write: Bool)]
    public let json: JSON
    /// What every call needs, where that does not depend on its arguments.
    let fixedQuestion: Question?

    init(
        _ name: String, _ json: JSON, family: String, permission inherited: PermissionUse?, reader: DescriptorReader
    ) throws(HostError) {
        guard Self.isOperationName(name) else { throw reader.error("", "is no operation name") }
        self.family = family
        self.name = name
        self.json = json
        fullName = "\(family).\(name)"
        summary = try reader.string("summary")
        kind = try reader.choice("kind", Kind.self) ?? .call
        positional = try reader.strings("positional")
        arguments = try Schema(
            json["arguments"] ?? ["type": "object", "additionalProperties": false, "properties": [:]],
            at: "operations.\(name).arguments")
        result = json["result"]
        final = json["final"]
        for key in ["result", "final"] where json[key] != nil {
            _ = try Schema(json[key] ?? .null, at: "operations.\(name).\(key)")
        }
        var events: [(name: String, schema: JSON)] = []
        for member in try reader.members("events", optional: true) {
            guard !Self.reservedEvents.contains(member.key) else {
                throw reader.error("events.\(member.key)", "is reserved")
            }
            _ = try Schema(member.value, at: "operations.\(name).events.\(member.key)")
            events.append((member.key, member.value))
        }
        self.events = events
        guard kind == .stream || (events.isEmpty && final == nil) else {
            throw reader.error("kind", "must be stream where events or final are declared")
        }
        delivery = try reader.choice("delivery", Delivery.self) ?? .lossless
        handle = try Self.handle(reader)
        if reader.json["permission"] != nil {
            permission = try PermissionUse(reader, "permission")
        } else if let inherited, let level = try reader.optionalString("level") {
            permission = PermissionUse(inherited, level: level)
        } else {
            permission = inherited
        }
        requires = try Requirement.read(reader)
        scope = try ScopeRule.read(reader, permission: permission)
        effect = try reader.choice("effect", Effect.self) ?? .read
        (errors, errorTexts) = try ErrorText.list(reader)
        timeout = try Self.timeout(reader)
        redact = try reader.strings("redact")
        isInline = try reader.flag("inline")
        guard !(isInline && kind == .stream) else { throw reader.error("inline", "is for calls, not streams") }
        raw = json["raw"]
        let properties = json["arguments"]?["properties"]?.members ?? []
        paths = properties.filter { $0.value["format"]?.stringValue == "path" }
            .map { ($0.key, $0.value["x-access"]?.stringValue == "write") }
        for name in positional where !properties.contains(where: { $0.key == name }) {
            throw reader.error("positional", "\(name) is no argument")
        }
        let isFixed = scope.isEmpty && requires.allSatisfy { $0.when == nil }
        fixedQuestion =
            isFixed ? Question(fullName, permission: permission, requires: requires, scope: [], arguments: .null) : nil
        try reader.allowOnly([
            "summary", "description", "kind", "positional", "arguments", "result", "events", "final", "delivery",
            "handle",
            "permission", "level", "requires", "scope", "effect", "errors", "timeout", "redact", "inline", "raw",
            "examples",
        ])
    }

    static let reservedEvents: Set<String> = ["end", "error", "lost", "dropped", "resubscribed"]

    private static func isOperationName(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return !parts.isEmpty && name.utf8.count <= 64
            && parts.allSatisfy { part in
                let bytes = Array(part.utf8)
                guard let first = bytes.first, !first.isDigit, bytes.allSatisfy(\.isLetterOrDigit) else { return false }
                return !["then", "constructor", "prototype"].contains(part)
            }
    }

    private static func handle(
        _ reader: DescriptorReader
    ) throws(HostError) -> (id: String, methods: [(name: String, operation: String)])? {
        guard reader.json["handle"] != nil else { return nil }
        let handle = try reader.child("handle")
        var methods: [(name: String, operation: String)] = []
        for member in try handle.members("methods", optional: true) {
            guard !["then", "done", "cancel"].contains(member.key), let operation = member.value.stringValue else {
                throw handle.error("methods.\(member.key)", "must be an operation, and not then, done or cancel")
            }
            methods.append((member.key, operation))
        }
        return (try handle.string("id"), methods)
    }

    private static func timeout(_ reader: DescriptorReader) throws(HostError) -> (default: Int, maximum: Int) {
        guard reader.json["timeout"] != nil else { return (30_000, 600_000) }
        let timeout = try reader.child("timeout")
        let result = (default: try timeout.integer("default"), maximum: try timeout.integer("maximum"))
        guard result.default >= 0, result.maximum >= result.default else {
            throw timeout.error("", "default and maximum must be milliseconds, maximum not below default")
        }
        return result
    }
}
