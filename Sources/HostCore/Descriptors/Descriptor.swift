public import ApsuleKit
internal import CApsule

/// One family's descriptor: the source of truth of its surface.
///
/// `Manifests/<family>.json`, embedded in the plugin.
public final class Descriptor: Sendable {
    public let family: String
    public let version: String
    public let summary: String
    public let operations: [OperationDescriptor]
    /// The family's permission, where its operations do not name their own.
    public let permission: String?
    /// The scopes that the permission takes: `{"hosts": "network"}`.
    public let scopes: [String]
    /// `own`: the plugin holds credentials and runs in a process of its own.
    public let process: String?
    public let backing: JSON?
    public let sandbox: JSON?
    /// What the family's error codes mean: its `errors` section, and what its operations say themselves.
    public let errorTexts: [String: ErrorText]
    public let json: JSON
    private let byName: [String: OperationDescriptor]

    public func operation(_ name: String) -> OperationDescriptor? { byName[name] }

    /// Reads a descriptor.
    ///
    /// - Throws: `descriptor.invalid` with `file`, `key`, `value` and `rule`.
    public convenience init(parsing bytes: [UInt8], file: String = "") throws(HostError) {
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch {
            let place = error.position(in: bytes)
            throw DescriptorReader.invalid(
                file, "line \(place.line), column \(place.column)", .null, "must be JSON: \(error.message)")
        }
        try self.init(json, file: file)
    }

    public init(_ json: JSON, file: String = "") throws(HostError) {
        let root = try DescriptorReader(json, file: file)
        let abi = try root.integer("apsule")
        guard abi == Int(APSULE_ABI) else {
            throw HostError(
                "plugin.abi_mismatch", "The plugin was made for ABI \(abi), this host has ABI \(APSULE_ABI).",
                details: ["file": .string(file), "host": .int(Int64(APSULE_ABI)), "plugin": .int(Int64(abi))])
        }
        let family = try root.string("family")
        guard Self.isFamilyName(family) else {
            throw root.error("family", "must match [a-z][A-Za-z0-9]{1,31} and not be reserved")
        }
        self.json = json
        self.family = family
        version = try root.string("version")
        guard Self.isVersion(version) else { throw root.error("version", "must be three numbers: 1.0.0") }
        summary = try root.string("summary")
        process = try root.optionalString("process", oneOf: ["own"])
        backing = json["backing"]
        sandbox = json["sandbox"]
        let permission = try PermissionUse(root, "permission")
        self.permission = permission?.name
        scopes = permission?.scopes ?? []
        var operations: [OperationDescriptor] = []
        var byName: [String: OperationDescriptor] = [:]
        for member in try root.members("operations") {
            let operation = try OperationDescriptor(
                member.key, member.value, family: family, permission: permission,
                reader: try root.child("operations").child(member.key))
            guard byName.updateValue(operation, forKey: member.key) == nil else {
                throw root.error("operations.\(member.key)", "is named twice")
            }
            operations.append(operation)
        }
        errorTexts = try operations.reduce(into: ErrorText.section(root, family: family)) { texts, operation in
            texts.merge(operation.errorTexts) { shared, _ in shared }
        }
        guard !operations.isEmpty else { throw root.error("operations", "must name at least one operation") }
        for name in byName.keys {
            // `a` and `a.b` cannot both be properties of one proxy.
            var prefix = name
            while let dot = prefix.lastIndex(of: ".") {
                prefix = String(prefix[..<dot])
                if byName[prefix] != nil { throw root.error("operations.\(name)", "stands beside \(prefix)") }
            }
        }
        try root.allowOnly([
            "apsule", "family", "version", "summary", "description", "backing", "permission", "operations", "process",
            "sandbox", "raw", "errors",
        ])
        self.operations = operations
        self.byName = byName
    }

    private static let reserved: Set<String> = [
        "apsule", "host", "plugin", "permission", "manifest", "descriptor", "script", "replay", "protocol", "relay",
        "sync", "project",
    ]

    static func isFamilyName(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard (2...32).contains(bytes.count), (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(bytes[0]) else {
            return false
        }
        return bytes.allSatisfy(\.isLetterOrDigit) && !reserved.contains(name)
    }

    private static func isVersion(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && parts.allSatisfy { !$0.isEmpty && $0.count < 10 && $0.utf8.allSatisfy(\.isDigit) }
    }
}

extension UInt8 {
    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    var isLetterOrDigit: Bool {
        isDigit || (self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z"))
    }
}
