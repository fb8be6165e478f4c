public import ApsuleKit
internal import CHostCore
internal import Glibc

/// A folder of the host's own, held as a descriptor: 0700, owned by this user, opened without following links.
///
/// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
public struct SecureFolder: ~Copyable, Sendable {
    public let descriptor: Int32
    public let path: String

    /// Takes a descriptor over, and gives it back when the folder is not fit.
    private init(checking descriptor: Int32, path: String) throws(HostError) {
        guard descriptor >= 0 else { throw Self.unusable(path, String(cString: strerror(-descriptor))) }
        do throws(HostError) { try Self.check(descriptor, path) } catch {
            close(descriptor)
            throw error
        }
        (self.descriptor, self.path) = (descriptor, path)
    }

    deinit { close(descriptor) }

    /// Opens a folder, making it and its parents where they are missing.
    ///
    /// - Throws: `host.state_unusable` with the path, reason and fix.
    public static func make(_ path: String) throws(HostError) -> SecureFolder {
        guard path.hasPrefix("/") else { throw unusable(path, "is not absolute") }
        var made = ""
        for part in path.split(separator: "/") {
            made += "/" + part
            if mkdir(made, 0o700) != 0, errno != EEXIST { throw unusable(made, String(cString: strerror(errno))) }
        }
        var info = stat()
        if lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFLNK { throw unusable(path, "is a symbolic link") }
        let folder = host_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        return try SecureFolder(checking: folder, path: path)
    }

    /// Opens a folder beneath this one, making it where it is missing.
    public func folder(_ name: String) throws(HostError) -> SecureFolder {
        let path = "\(self.path)/\(name)"
        if mkdirat(descriptor, name, 0o700) != 0, errno != EEXIST {
            throw Self.unusable(path, String(cString: strerror(errno)))
        }
        let folder = host_open_beneath(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        return try SecureFolder(checking: folder, path: path)
    }

    /// Refuses a file in it that somebody else owns or may write, which no file of the host's own is.
    ///
    /// One that is not there is fine.
    func checkOwner(_ name: String, code: String) throws(HostError) {
        var info = stat()
        guard fstatat(descriptor, name, &info, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return }
            throw Self.unusable("\(path)/\(name)", String(cString: strerror(errno)))
        }
        let isOwn = info.st_mode & S_IFMT == S_IFREG && info.st_uid == geteuid() && info.st_mode & 0o022 == 0
        guard !isOwn else { return }
        let file = "\(path)/\(name)"
        throw HostError(
            code, "\(file) is not a file that belongs to the user and that nobody else may write.",
            details: [
                "path": .string(file), "reason": "Somebody else may have written it.",
                "fix": .string("Look at \(file), and move it away."),
            ])
    }

    private static func check(_ folder: Int32, _ path: String) throws(HostError) {
        var info = stat()
        guard fstat(folder, &info) == 0 else { throw unusable(path, String(cString: strerror(errno))) }
        guard info.st_uid == geteuid() else {
            throw unusable(path, "belongs to user \(info.st_uid), not to \(geteuid())")
        }
        if info.st_mode & 0o077 != 0, fchmod(folder, 0o700) != 0 { throw unusable(path, "is open to others") }
    }

    private static func unusable(_ path: String, _ reason: String) -> HostError {
        HostError(
            "host.state_unusable", "\(path) \(reason).",
            details: [
                "path": .string(path), "reason": .string(reason),
                "fix": "Give the folder to the user who runs apsule (mode 0700), or name another with --state.",
            ])
    }
}
