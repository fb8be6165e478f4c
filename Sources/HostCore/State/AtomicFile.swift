public import ApsuleKit
internal import CHostCore
internal import Glibc

/// Replaces whole files: whoever reads sees the old one or the new one.
public enum AtomicFile {
    /// Writes a file beside its place, then renames it there.
    ///
    /// A link at the place is replaced, not followed.
    ///
    /// - Parameter keep: refuses with `host.file_exists` where something is there already.
    /// - Throws: `host.file_error`, `host.file_exists`.
    public static func write(
        _ path: String, _ bytes: [UInt8], mode: UInt32 = 0o644, keep: Bool = false
    ) throws(HostError) {
        let slash = path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex
        let temporary = "\(path[..<slash]).\(path[slash...]).\(getpid()).new"
        let file = host_openat(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
        guard file >= 0 else { throw failure(path, -file) }
        var problem = fill(file, bytes)
        close(file)
        if problem == 0 {
            // link, unlike rename, never replaces.
            let isDone = keep ? link(temporary, path) == 0 : rename(temporary, path) == 0
            if !isDone { problem = errno }
        }
        if problem != 0 || keep { unlink(temporary) }
        // The name is as durable as the bytes only once its folder is.
        if problem == 0 { problem = flush(slash == path.startIndex ? "." : String(path[..<slash])) }
        if problem == EEXIST {
            throw HostError("host.file_exists", "\(path) is there already.", details: ["path": .string(path)])
        }
        if problem != 0 { throw failure(path, problem) }
    }

    /// The errno of what failed, or 0.
    private static func fill(_ file: Int32, _ bytes: [UInt8]) -> Int32 {
        let problem = FileWriter.write(bytes, to: file)
        if problem != 0 { return problem }
        return fsync(file) == 0 ? 0 : errno
    }

    /// The errno of what failed, or 0; a folder that this user may not open is left to the kernel.
    private static func flush(_ folder: String) -> Int32 {
        let directory = host_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0)
        guard directory >= 0 else { return directory == -EACCES ? 0 : -directory }
        defer { close(directory) }
        return fsync(directory) == 0 || errno == EINVAL ? 0 : errno
    }

    private static func failure(_ path: String, _ code: Int32) -> HostError {
        HostError("host.file_error", "\(path): \(String(cString: strerror(code)))", details: ["path": .string(path)])
    }
}
