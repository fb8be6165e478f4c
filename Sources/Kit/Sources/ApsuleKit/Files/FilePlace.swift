internal import CFiles
internal import Glibc

/// A name in an open folder beneath the project's files.
///
/// Only opening resolves a path beneath the sandbox in the kernel; what renames, links, removes and makes folders does not.
/// So the host opens the folder, and these act on one name in it, which follows no link and leads nowhere else.
///
/// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
public struct FilePlace: ~Copyable, Sendable {
    /// Open for reading; it stays this value's.
    public let folder: Int32
    /// Without a slash, and not `.` or `..`.
    public let name: String
    /// The whole path, for messages.
    public let path: String
    let family: String

    /// Opens the folder of a path of the call's project.
    ///
    /// - Throws: `<family>.<reason>` as `Call.fileError`; `not_permitted` for a path that ends in no name, as `.` or `a/..`.
    public init(_ call: Call, _ path: String) throws(HostError) {
        let (folder, name) = Self.split(path)
        guard Self.isName(name) else { throw Self.unnamed(path, call.link.family) }
        // Before anything is done for it, and not when it gets its name.
        guard name.utf8.count <= Int(NAME_MAX) else { throw call.fileError(path, errno: ENAMETOOLONG) }
        self.init(
            adopting: try call.open(folder, flags: O_RDONLY | O_DIRECTORY), name: name, path: path,
            family: call.link.family)
    }

    /// Takes over a folder's descriptor.
    public init(adopting folder: Int32, name: String, path: String, family: String) {
        precondition(Self.isName(name), "a name of one file")
        (self.folder, self.name, self.path, self.family) = (folder, name, path, family)
    }

    deinit { close(folder) }

    /// Another name in the same folder; messages speak of this one.
    public func sibling(_ name: String) throws(HostError) -> FilePlace {
        let folder = fcntl(self.folder, F_DUPFD_CLOEXEC, 3)
        guard folder >= 0 else { throw error(errno: errno) }
        return FilePlace(adopting: folder, name: name, path: path, family: family)
    }

    /// What the system's refusal to do something here means.
    public func error(errno code: Int32) -> HostError { FileErrors.error(family: family, path: path, errno: code) }

    /// Gives what has this name another one, in another folder perhaps.
    ///
    /// - Parameter replacing: whether what has that name already is replaced, where both are files or it is an empty folder.
    /// - Returns: the errno of what failed, or 0.
    public func rename(to place: borrowing FilePlace, replacing: Bool) -> Int32 {
        files_rename(folder, name, place.folder, place.name, replacing ? 1 : 0)
    }

    /// Makes what happened to the name durable.
    public func flush() throws(HostError) {
        // Some file systems have nothing to flush for a folder, and say EINVAL.
        guard fsync(folder) != 0, errno != EINVAL else { return }
        throw error(errno: errno)
    }

    /// A name that nobody else has, for what gets its own name later.
    public static func temporaryName() -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return ".apsule-" + String(repeating: "0", count: 16 - number.utf8.count) + number
    }

    /// The folder and the last name of a path; empty components and a slash at the end mean nothing.
    static func split(_ path: String) -> (folder: String, name: String) {
        var bytes = Substring(path).utf8
        while bytes.last == UInt8(ascii: "/"), bytes.count > 1 { bytes.removeLast() }
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return (".", String(Substring(bytes))) }
        let folder = slash == bytes.startIndex ? "/" : String(Substring(bytes[..<slash]))
        return (folder, String(Substring(bytes[bytes.index(after: slash)...])))
    }

    private static func isName(_ name: String) -> Bool {
        let bytes = name.utf8
        return !bytes.isEmpty && name != "." && name != ".." && !bytes.contains(0) && !bytes.contains(UInt8(ascii: "/"))
    }

    private static func unnamed(_ path: String, _ family: String) -> HostError {
        HostError(
            "\(family).not_permitted", "\(path): does not end in the name of a file or folder",
            details: ["path": .string(path)])
    }
}
