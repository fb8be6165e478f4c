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
            let root = override.hasPrefix("/") ? override : Self.currentFolder + "/" + override
            (state, data) = (root + "/state", root + "/data")
            self.configuration = root + "/config"
            return
        }
        guard let configuration, let state = folder("XDG_STATE_HOME", ".local/state"),
            let data = folder("XDG_DATA_HOME", ".local/share")
        else {
            throw HostError(
                "host.state_unusable", "There is no home folder to keep state in.",
                details: ["reason": "HOME is not set to an absolute path.", "fix": "Set HOME, or use --state DIR."])
        }
        (self.state, self.data, self.configuration) = (state, data, configuration)
    }

    public static var currentFolder: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }
}
