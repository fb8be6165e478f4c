public import ApsuleKit
internal import Glibc

/// Where this host's own files lie, and the plugins it finds.
public struct Installation: Sendable {
    /// The folder of the executable: bundled plugins and `Manifests` lie beside it.
    public let folder: String
    public let environment: [String: String]

    public init(folder: String? = nil, environment: [String: String] = Self.processEnvironment()) {
        self.folder = folder ?? Self.executableFolder()
        self.environment = environment
    }

    /// The plugin folders, bundled ones first.
    ///
    /// - Parameters:
    ///   - data: the user's data folder; nil without a home.
    ///   - extra: `--plugins DIR`.
    public func pluginFolders(data: String?, extra: [String] = []) throws(HostError) -> [PluginFolder] {
        var folders = [PluginFolder(path: folder, isBundled: true)]
        let system = ["/usr/lib/apsule/plugins"] + (data.map { [$0 + "/plugins"] } ?? [])
        folders += system.map { PluginFolder(path: $0, isBundled: false) }
        // Absolute: they are watched, and passed on to processes that start elsewhere.
        for path in extra {
            let absolute = path.hasPrefix("/") ? path : try HostPaths.currentFolder() + "/" + path
            folders.append(PluginFolder(path: absolute, isBundled: false))
        }
        // Root's plugins cannot be named by whoever sets a variable.
        if geteuid() != 0, let path = environment["APSULE_PLUGIN_PATH"] {
            folders += path.split(separator: ":").map { PluginFolder(path: String($0), isBundled: false) }
        }
        return folders
    }

    /// The descriptors of the families that the host serves itself.
    ///
    /// - Throws: `host.installation_damaged` where a manifest is missing.
    public func hostFamilies() throws(HostError) -> [Descriptor] {
        var descriptors: [Descriptor] = []
        for family in ["runtime", "permissions"] {
            let file = "\(folder)/Manifests/\(family).json"
            do throws(HostError) {
                let bytes = try FileReader.read(file)
                descriptors.append(try Descriptor(parsing: bytes, file: file))
            } catch {
                throw HostError(
                    "host.installation_damaged", "The manifest of \(family) cannot be used: \(error.message)",
                    details: [
                        "path": .string(file), "reason": .string(error.message),
                        "fix": "Build or install apsule again.",
                    ])
            }
        }
        return descriptors
    }

    private static func executableFolder() -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { raw -> Int in
            guard let start = raw.bindMemory(to: CChar.self).baseAddress else { return 0 }
            return readlink("/proc/self/exe", start, raw.count)
        }
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    public static func processEnvironment() -> [String: String] {
        var result: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            // What is no UTF-8 would become something else: it counts as not set.
            if let pair = String(validatingCString: text), let equals = pair.firstIndex(of: "=") {
                result[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
            }
            entry += 1
        }
        return result
    }
}
