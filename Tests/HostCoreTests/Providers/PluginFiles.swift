import ApsuleKit
import Foundation
import Glibc

@testable import HostCore

/// A plugin folder of its own, with small libraries that can be listed.
final class PluginFiles: Sendable {
    let folder: TemporaryFolder
    var path: String { folder.path + "/plugins" }

    init() throws {
        folder = try TemporaryFolder()
        mkdir(path, 0o755)
    }

    static func image(_ family: String, version: String = "1.0.0") -> [UInt8] {
        let descriptor: JSON = [
            "apsule": 1, "family": .string(family), "version": .string(version), "summary": "A plugin.",
            "operations": ["go": ["summary": "Goes."]],
        ]
        var builder = ELFBuilder()
        builder.descriptors = [descriptor.bytes]
        builder.symbol = "apsule_plugin_\(family)"
        return builder.build()
    }

    /// Puts a plugin there whole, as packages do.
    func put(_ family: String, version: String = "1.0.0", name: String? = nil) throws {
        try AtomicFile.write("\(path)/\(name ?? "libapsule-\(family).so")", Self.image(family, version: version))
    }

    func remove(_ family: String) { unlink("\(path)/libapsule-\(family).so") }

    func registry(isBundled: Bool = false) -> Registry {
        Registry(folders: [PluginFolder(path: path, isBundled: isBundled)], hostFamilies: [])
    }
}
