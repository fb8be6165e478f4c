public import ApsuleKit
internal import Glibc

/// Looks over this host and this machine, and says what does not work, why, and what helps.
///
/// Changes nothing; the plugins' probes run, each with a limit.
public struct Doctor: Sendable {
    /// A program that some projects need.
    public struct Tool: Sendable {
        let path: String
        let package: String
        let purpose: String

        public init(path: String, package: String, purpose: String) {
            (self.path, self.package, self.purpose) = (path, package, purpose)
        }
    }

    let installation: Installation
    let paths: HostPaths?
    private let tools: [Tool]

    /// - Parameter paths: nil where there are none, which is a finding of its own.
    public init(installation: Installation, paths: HostPaths?, tools: [Tool]) {
        (self.installation, self.paths, self.tools) = (installation, paths, tools)
    }

    /// Everything but the families.
    ///
    /// - Parameter host: whose permissions and families a policy may name; nil where the registry could not be read.
    public func examine(_ host: Host?) -> [Finding] {
        examineInstallation() + examineSandbox() + examinePermissions(host) + tools.map(examine)
            + EnvironmentTraps.findings(installation.environment)
    }

    private func examine(_ tool: Tool) -> Finding {
        let name = tool.path.split(separator: "/").last.map(String.init) ?? tool.path
        if access(tool.path, X_OK) == 0 { return Finding("tools", name, .fine, "\(tool.path), for \(tool.purpose)") }
        return Finding(
            "tools", name, .warning, "\(tool.path) is missing", reason: "Needed for \(tool.purpose).",
            fix: "apt-get install \(tool.package)")
    }

    // MARK: - Families

    /// How families are, after a probe.
    ///
    /// - Throws: `usage.invalid` where one of `names` is no family.
    public static func families(_ snapshot: Registry.Snapshot, named names: [String] = []) throws(HostError)
        -> [Finding]
    {
        let known = Set(snapshot.entries.map(\.family))
        for name in names where !known.contains(name) {
            let nearest = Suggestion.nearest(to: name, among: known.sorted()).map { " Did you mean \($0)?" } ?? ""
            throw HostError("usage.invalid", "There is no family \(SafeText.escape(name)).\(nearest)")
        }
        return snapshot.entries.filter { names.isEmpty || names.contains($0.family) }.map(finding)
    }

    private static func finding(_ entry: Registry.Entry) -> Finding {
        let version = entry.descriptor.map { " \($0.version)" } ?? ""
        guard let error = entry.error else {
            let backing = entry.descriptor?.backing?["name"]?.stringValue.map { ", over \($0)" } ?? ""
            return Finding("families", entry.family, .fine, "\(entry.status.rawValue)\(version)\(backing)")
        }
        // The reason says more than the message, which only names the family.
        let text = error.details["reason"]?.stringValue ?? error.message
        var finding = Finding(
            "families", entry.family, entry.status == .quarantined ? .warning : .problem,
            "\(entry.status.rawValue)\(version): \(text)",
            reason: entry.provider == "third-party" ? entry.path : nil, fix: error.details["fix"]?.stringValue)
        finding.code = error.code
        return finding
    }
}
