import Foundation
import TestPrograms

/// An installation of its own with the families runtime, permissions, timer and `Tests/Plugins/gallery`.
enum GalleryInstallation {
    static let binary = Result { try make() }

    private static func make() throws -> URL {
        let folder = Workshop.folder.appending(path: "gallery-installation")
        let manifests = folder.appending(path: "Manifests")
        try FileManager.default.createDirectory(at: manifests, withIntermediateDirectories: true)
        let build = URL(fileURLWithPath: Workshop.build)
        for name in try FileManager.default.contentsOfDirectory(atPath: build.path)
        where ["apsule", "apsule-worker", "apsule-launch", "libapsule-timer.so"].contains(name)
            || name.hasPrefix("libApsule") && name.hasSuffix(".so")
            || name.hasPrefix("apsule-") && !name.contains(".")
        {
            try copy(build.appending(path: name), folder.appending(path: name))
        }
        let plugin = URL(fileURLWithPath: Workshop.plugin("gallery"))
        try copy(plugin, folder.appending(path: plugin.lastPathComponent))
        for family in ["runtime", "permissions", "timer"] {
            let file = Workshop.repository.appending(path: "Manifests/\(family).json")
            try copy(file, manifests.appending(path: file.lastPathComponent))
        }
        return folder.appending(path: "apsule")
    }

    private static func copy(_ file: URL, _ target: URL) throws {
        if (try? FileManager.default.linkItem(at: file, to: target)) != nil { return }
        try FileManager.default.copyItem(at: file, to: target)
    }
}
