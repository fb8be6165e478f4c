public import ApsuleKit
internal import CHostCore
internal import Glibc

/// The owner's standing decisions: `policy.json` in the configuration folder, believed only while nobody else can
/// write it.
///
///     {"apsule": 1, "projects": {"com.example.ble-scanner": {"allow": ["bluetooth"], "deny": ["network"]}, "*": {}},
///      "settings": {"bluetooth": {"adapter": "hci1"}}}
///
/// Settings of families are the owner's alone; those under a project hold for that project and win over the general ones.
public struct Policy: Sendable {
    struct Rules: Sendable {
        var allow: Set<String> = []
        var deny: Set<String> = []
        var settings: JSON = .object([])
    }

    private var projects: [String: Rules] = [:]
    private var settings: JSON = .object([])
    public let path: String

    /// No policy.
    public init() { path = "" }

    /// Reads the file; one that is not there is no policy.
    ///
    /// - Throws: `policy.invalid`, `policy.not_owner_only`.
    public init(configuration: String) throws(HostError) {
        path = configuration + "/policy.json"
        let file = host_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        if file == -ENOENT || file == -ENOTDIR { return }
        guard file >= 0 else { throw Self.error("policy.invalid", path, String(cString: strerror(-file))) }
        defer { close(file) }
        var info = stat()
        guard fstat(file, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
            throw Self.error("policy.invalid", path, "is not a regular file")
        }
        guard info.st_uid == geteuid(), info.st_mode & 0o022 == 0 else {
            throw Self.error(
                "policy.not_owner_only", path, "must belong to the user and be writable by nobody else",
                fix: "Look at it, then chmod 600 \(path)")
        }
        // Whoever may write the folder could take a "no" away.
        guard stat(configuration, &info) == 0, info.st_mode & 0o002 == 0 else {
            throw Self.error(
                "policy.not_owner_only", configuration, "must not be writable by everybody",
                fix: "Look at what lies there, then chmod 700 \(configuration)")
        }
        let bytes: [UInt8]
        do throws(HostError) { bytes = try FileReader.read(file, path, limit: 1 << 20) } catch {
            throw Self.error("policy.invalid", path, error.details["reason"]?.stringValue ?? error.message)
        }
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch {
            let place = error.position(in: bytes)
            throw Self.error("policy.invalid", "\(path):\(place.line):\(place.column)", error.message)
        }
        guard json["apsule"]?.intValue == 1, let projects = (json["projects"] ?? .object([])).members else {
            throw Self.error("policy.invalid", path, "must have \"apsule\": 1, and \"projects\" as an object")
        }
        try checkKeys(json)
        for project in projects { self.projects[project.key] = try rules(project) }
        settings = try Self.settings(json["settings"], path, "settings")
    }

    private func rules(_ project: JSON.Member) throws(HostError) -> Rules {
        guard let members = project.value.members else {
            throw Self.error("policy.invalid", path, "\(project.key) must be an object")
        }
        var rules = Rules()
        for member in members {
            if member.key == "settings" {
                rules.settings = try Self.settings(member.value, path, "\(project.key): settings")
                continue
            }
            // A rule that is read wrongly could be a "no" that is not heard.
            guard let values = member.value.arrayValue, values.allSatisfy({ $0.stringValue != nil }) else {
                throw Self.error("policy.invalid", path, "\(project.key): \(member.key) must be a list of permissions")
            }
            let names = Set(values.compactMap(\.stringValue))
            switch member.key {
            case "allow": rules.allow = names
            case "deny": rules.deny = names
            default:
                throw Self.error(
                    "policy.invalid", path, "\(project.key): \(member.key) is neither allow nor deny nor settings")
            }
        }
        return rules
    }

    /// What is not read could be a "no" that is not heard.
    private func checkKeys(_ json: JSON) throws(HostError) {
        let known = ["apsule", "projects", "settings"]
        for key in (json.members ?? []).map(\.key)
        where !known.contains(key) && !key.hasPrefix("x-") && key != "$schema" {
            let nearest = Suggestion.nearest(to: key, among: known).map { ", did you mean \($0)?" } ?? ""
            throw Self.error("policy.invalid", path, "there is no \(key) here\(nearest)")
        }
    }

    /// `{"bluetooth": {…}}`: an object a family.
    private static func settings(_ json: JSON?, _ path: String, _ place: String) throws(HostError) -> JSON {
        guard let json else { return .object([]) }
        guard let families = json.members, families.allSatisfy({ $0.value.members != nil }) else {
            throw error("policy.invalid", path, "\(place) must be an object with an object a family")
        }
        return json
    }

    /// The settings of families for a project: what is said of it wins over what is said of all.
    func settings(of identity: ProjectIdentity) -> JSON {
        var merged: JSON = .object([])
        let layers: [JSON?] = [settings, projects["*"]?.settings, projects[identity.id]?.settings]
        for layer in layers {
            for family in layer?.members ?? [] {
                var values = merged[family.key] ?? .object([])
                for value in family.value.members ?? [] { values.set(value.key, value.value) }
                merged.set(family.key, values)
            }
        }
        return merged
    }

    var projectCount: Int { projects.count }

    /// What it names and the host does not know.
    func warnings(_ host: Host) -> [HostError] {
        warnings(host.catalogue) + warnings(families: host.registry.snapshot.entries.map(\.family))
    }

    /// Settings of families that there are not: nobody would ever read them.
    func warnings(families: [String]) -> [HostError] {
        let layers =
            [("settings", settings)] + projects.sorted { $0.key < $1.key }.map { ("\($0): settings", $1.settings) }
        return layers.flatMap { place, settings in
            (settings.members ?? []).map(\.key).filter { !families.contains($0) }.map { name in
                let nearest = Suggestion.nearest(to: name, among: families).map { ", did you mean \($0)?" } ?? ""
                return Self.error("policy.unknown_family", path, "\(place): there is no family \(name)\(nearest)")
            }
        }
    }

    /// Permissions that there are not: a "no" with a slip of the pen would not be heard.
    func warnings(_ catalogue: PermissionCatalogue) -> [HostError] {
        projects.sorted { $0.key < $1.key }.flatMap { project, rules in
            rules.deny.union(rules.allow).sorted().filter { $0 != "*" && catalogue[$0] == nil }.map { name in
                let nearest = Suggestion.nearest(to: name, among: catalogue.names).map { ", did you mean \($0)?" } ?? ""
                return Self.error(
                    "policy.unknown_permission", path, "\(project): there is no permission \(name)\(nearest)")
            }
        }
    }

    /// What the policy says: true, false, or nothing.
    ///
    /// Deny beats allow.
    func decision(_ identity: ProjectIdentity, _ permission: String) -> Bool? {
        let rules = [projects[identity.id], projects["*"]].compactMap { $0 }
        if rules.contains(where: { $0.deny.contains(permission) || $0.deny.contains("*") }) { return false }
        if rules.contains(where: { $0.allow.contains(permission) || $0.allow.contains("*") }) { return true }
        return nil
    }

    private static func error(
        _ code: String, _ place: String, _ reason: String, fix: String = "Correct it, or move it away."
    ) -> HostError {
        HostError(
            code, "\(place): \(reason)",
            details: ["path": .string(place), "reason": .string(reason), "fix": .string(fix)])
    }
}
