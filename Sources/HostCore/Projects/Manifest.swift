public import ApsuleKit

/// A project's `app.json`.
public struct Manifest: Sendable {
    public let id: String
    public let name: String
    public let version: String
    public let entry: String
    public let permissions: [String: Declaration]
    public let requires: Requirements
    public let optional: [String]
    public let limits: Limits
    public let json: JSON
    /// Keys that this host does not know; they are ignored and said.
    public let warnings: [String]

    public struct Requirements: Sendable {
        public init() {}
        /// As in `>=0.1`.
        public var host: String?
        public var operations: [String] = []
    }

    public struct Limits: Sendable {
        /// How long the script may run without giving the turn back, in milliseconds.
        public var turnMs = 5_000
        public var memoryMB = 512
        public init() {}
    }

    public static let maximumSize = 1 << 20

    /// Reads `app.json`.
    ///
    /// - Throws: `manifest.<reason>` with `file`, `line`, `key`, `value` and `rule`.
    public init(
        parsing bytes: [UInt8], file: String, catalogue: @autoclosure () -> PermissionCatalogue
    ) throws(HostError) {
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch {
            let place = error.position(in: bytes)
            throw HostError(
                "manifest.syntax", "\(file):\(place.line):\(place.column): \(error.message)",
                details: [
                    "file": .string(file), "line": .int(Int64(place.line)), "column": .int(Int64(place.column)),
                ])
        }
        let reader = ManifestReader(json, file: file, source: bytes)
        guard json.members != nil else { throw reader.error("manifest.invalid", "", "must be an object") }
        guard json["apsule"]?.intValue == 1 else { throw reader.error("manifest.invalid", "apsule", "must be 1") }
        self.json = json
        id = try reader.string("id")
        guard Self.isID(id) else {
            throw reader.error(
                "manifest.invalid", "id", "must be lower-case words with dots or hyphens, as com.example.app")
        }
        // What a policy or a revocation says of the host's own must not reach a project.
        guard !id.hasPrefix("apsule.") else {
            throw reader.error("manifest.invalid", "id", "must not begin with apsule., as the host's own do")
        }
        name = try reader.string("name")
        version = try reader.string("version")
        entry = json["entry"] == nil ? "main.js" : try reader.string("entry")
        guard Self.isProjectPath(entry) else {
            throw reader.error("manifest.invalid", "entry", "must be a path inside the project")
        }
        var permissions: [String: Declaration] = [:]
        for member in try reader.members("permissions") {
            permissions[member.key] = try Declaration(member, reader: reader, catalogue: catalogue())
        }
        self.permissions = permissions
        var requires = Requirements()
        for group in ["requires", "optional", "limits", "settings"] { _ = try reader.members(group) }
        requires.host = json["requires"]?["host"]?.stringValue
        requires.operations = try reader.strings("requires", "operations")
        self.requires = requires
        optional = try reader.strings("optional", "operations")
        var limits = Limits()
        limits.turnMs = try reader.bounded("limits", "turnMs", 10...600_000) ?? limits.turnMs
        limits.memoryMB = try reader.bounded("limits", "memoryMB", 32...16_384) ?? limits.memoryMB
        self.limits = limits
        warnings =
            reader.unknown(nil, Self.keys) + reader.unknown("requires", ["host", "operations"])
            + reader.unknown("optional", ["operations"]) + reader.unknown("limits", ["turnMs", "memoryMB"])
    }

    private static let keys: Set<String> = [
        "apsule", "id", "name", "version", "entry", "views", "initialView", "permissions", "requires", "optional",
        "background", "icon", "limits", "description", "$schema",
    ]

    /// `[a-z0-9]+([.-][a-z0-9]+)+`, at most 100 characters.
    static func isID(_ id: String) -> Bool {
        let words = id.split(omittingEmptySubsequences: false) { $0 == "." || $0 == "-" }
        return id.utf8.count <= 100 && words.count >= 2
            && words.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { $0.isLetterOrDigit && !(65...90).contains($0) } }
    }

    static func isProjectPath(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return !path.hasPrefix("/") && !path.utf8.contains(0) && !parts.contains("..")
            && !["", "."].contains(parts.last)
    }
}

extension HostError {
    /// A script that is not there, though the manifest names it.
    public static func entryMissing(_ entry: String) -> HostError {
        HostError(
            "manifest.entry_missing", "The project has no \(entry).",
            details: [
                "path": .string(entry), "reason": "It is the project's entry, by app.json or by default.",
                "fix": .string("Write \(entry), or name another script as entry in app.json."),
            ])
    }
}
