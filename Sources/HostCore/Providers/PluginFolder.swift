internal import ApsuleKit
internal import Glibc

/// A folder with plugins: the bundled ones, or somebody else's.
public struct PluginFolder: Sendable, Hashable {
    public let path: String
    /// Bundled plugins are trusted and loaded in place; the manifests of families that were not built lie beside them.
    public let isBundled: Bool

    public init(path: String, isBundled: Bool) { (self.path, self.isBundled) = (path, isBundled) }

    /// - Parameter taken: names that bundled families have already.
    func entries(taken: Set<String>) -> [Registry.Entry] {
        var entries: [Registry.Entry] = []
        for name in Self.names(in: path) where name.hasSuffix(".so") && (!isBundled || name.hasPrefix("libapsule-")) {
            let file = path + "/" + name
            // Before it is read: what changes meanwhile is read once more.
            let stamp = FileStamp.of(file)
            var entry = entry(file, taken)
            entry.stamp = stamp
            entries.append(entry)
        }
        if isBundled { entries += missing(known: taken.union(entries.map(\.family))) }
        return entries
    }

    private func entry(_ file: String, _ taken: Set<String>) -> Registry.Entry {
        let provider = isBundled ? "bundled" : "third-party"
        var name = file.split(separator: "/").last.map(String.init) ?? file
        name = String(name.dropLast(3))
        if name.hasPrefix("libapsule-") { name = String(name.dropFirst("libapsule-".count)) }
        do throws(HostError) {
            let descriptor = try PluginInspection.descriptor(of: file, isBundled: isBundled)
            if taken.contains(descriptor.family) {
                throw HostError("plugin.name_taken", "A bundled family is called \(descriptor.family) already.")
            }
            if isBundled {
                return Registry.Entry(
                    family: descriptor.family, provider: provider, path: file, descriptor: descriptor,
                    status: .unprobed,
                    error: nil)
            }
            let error = HostError(
                "plugin.quarantined", "The plugin \(descriptor.family) has not been trusted.",
                details: [
                    "path": .string(file), "reason": "Plugins of others run only when a person has trusted them.",
                    "fix": .string("apsule plugin trust \(descriptor.family)"),
                ])
            return Registry.Entry(
                family: descriptor.family, provider: provider, path: file, descriptor: descriptor, status: .quarantined,
                error: error)
        } catch {
            var error = error
            error.details.set("path", .string(file))
            return Registry.Entry(
                family: name, provider: provider, path: file, descriptor: nil, status: .invalid, error: error)
        }
    }

    /// Families whose manifest is here but whose plugin is not: left out of the build for want of a library.
    private func missing(known: Set<String>) -> [Registry.Entry] {
        let folder = path + "/Manifests"
        var missing: [Registry.Entry] = []
        for name in Self.names(in: folder) where name.hasSuffix(".json") && !known.contains(String(name.dropLast(5))) {
            let family = String(name.dropLast(5))
            let file = folder + "/" + name
            guard let bytes = try? FileReader.read(file, limit: PluginInspection.maximumDescriptor),
                let descriptor = try? Descriptor(parsing: bytes, file: file), descriptor.json["x-provider"] == nil
            else { continue }
            let package = descriptor.backing?["package"]?.stringValue
            let error = HostError.unavailable(
                family, "This build has no \(family) plugin: the library it needs was not there when it was built.",
                fix: package.map { "apt-get install \($0), then Scripts/build" } ?? "Scripts/setup, then Scripts/build")
            missing.append(
                Registry.Entry(
                    family: family, provider: "bundled", path: file, descriptor: descriptor, status: .unavailable,
                    error: error))
        }
        return missing
    }

    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names.sorted()
    }
}
