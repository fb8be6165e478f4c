public import ApsuleKit
internal import Glibc

/// Where the host keeps its state, data and settings, after the XDG Base Directory Specification.
public struct HostPaths: Sendable {
    /// Grants and audit.
    public let state: String
    /// Sandboxes of projects and data of families.
    public let data: String
    /// `policy.json`.
    public let configuration: String

    /// - Parameter override: `--state DIR`, which moves state and data.
    /// - Throws: `host.state_unusable` where there is no home.
    public init(override: String? = nil, environment: [String: String]) throws(HostError) {
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        func folder(_ variable: String, _ fallback: String) -> String? {
            if let value = environment[variable], value.hasPrefix("/") { return value + "/apsule" }
            return home.map { "\($0)/\(fallback)/apsule" }
        }
        let configuration = folder("XDG_CONFIG_HOME", ".config")
        if let override {
            let root = override.hasPrefix("/") ? override : try Self.currentFolder() + "/" + override
            (state, data) = (root + "/state", root + "/data")
            self.configuration = root + "/config"
            return
        }
        guard let configuration, let state = folder("XDG_STATE_HOME", ".local/state"),
            let data = folder("XDG_DATA_HOME", ".local/share")
        else {
            throw HostError(
                "host.state_unusable", "There is no home folder to keep state in.",
                details: [
                    "reason": "HOME is not set to an absolute path in UTF-8.", "fix": "Set HOME, or use --state DIR.",
                ])
        }
        (self.state, self.data, self.configuration) = (state, data, configuration)
    }

    /// - Throws: `host.file_error` where it was removed, or where its name is no text.
    public static func currentFolder() throws(HostError) -> String {
        guard let path = getcwd(nil, 0) else {
            let reason = String(cString: strerror(errno))
            throw HostError(
                "host.file_error", "The current folder cannot be used: \(reason).",
                details: ["reason": .string(reason), "fix": "Go to another folder."])
        }
        defer { free(path) }
        return try text(path, "The current folder")
    }

    /// A path of the system as text.
    ///
    /// - Throws: `host.file_error`: bytes that are no UTF-8 would become another path.
    static func text(_ path: UnsafePointer<CChar>, _ what: String) throws(HostError) -> String {
        if let text = String(validatingCString: path) { return text }
        let shown = SafeText.escape(String(cString: path), limit: 1_000)
        throw HostError(
            "host.file_error", "\(what) has a name that is not UTF-8: \(shown).",
            details: ["path": .string(shown), "reason": "Paths are text.", "fix": "Rename it."])
    }
}
