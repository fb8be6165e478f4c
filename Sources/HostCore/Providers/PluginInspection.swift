import ApsuleKit
import CHostCore
import Glibc

/// Looks a plugin over before it is listed: who may have changed it, what it is, what it declares.
///
/// Runs none of it.
enum PluginInspection {
    static let maximumDescriptor = PluginImage.largestDescriptor

    /// - Throws: `plugin.<reason>`, `descriptor.invalid`.
    static func descriptor(of path: String, isBundled: Bool) throws(HostError) -> Descriptor {
        let file = host_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | (isBundled ? 0 : O_NOFOLLOW), 0)
        guard file >= 0 else {
            let reason = file == -ELOOP ? "is a symbolic link" : String(cString: strerror(-file))
            throw HostError("plugin.not_readable", "The file \(reason).")
        }
        defer { close(file) }
        if !isBundled { try checkOwners(file, path) }
        let plugin = try PluginImage(fileDescriptor: file)
        let descriptor = try Descriptor(parsing: plugin.descriptor, file: path)
        try plugin.check(family: descriptor.family, isBundled: isBundled)
        return descriptor
    }

    /// Nobody but root and the user may be able to change the file or to swap it for another.
    private static func checkOwners(_ file: Int32, _ path: String) throws(HostError) {
        var info = stat()
        guard fstat(file, &info) == 0 else { throw HostError("plugin.not_readable", String(cString: strerror(errno))) }
        try check(info, path)
        var folder = path
        while let slash = folder.lastIndex(of: "/"), folder != "/" {
            folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
            guard stat(folder, &info) == 0 else {
                throw HostError("plugin.not_readable", String(cString: strerror(errno)))
            }
            // In a sticky folder others can add files, but not replace this one.
            if info.st_mode & S_ISVTX != 0 { return }
            try check(info, folder)
        }
    }

    private static func check(_ info: stat, _ path: String) throws(HostError) {
        guard info.st_uid == 0 || info.st_uid == geteuid() else {
            throw HostError(
                "plugin.foreign_owner", "\(path) belongs to user \(info.st_uid), neither to root nor to you.",
                details: ["path": .string(path), "fix": .string("chown \(geteuid()) \(path)")])
        }
        guard info.st_mode & S_IWOTH == 0 else {
            throw HostError(
                "plugin.world_writable", "Everybody may write \(path).",
                details: ["path": .string(path), "fix": .string("chmod o-w \(path)")])
        }
    }
}
