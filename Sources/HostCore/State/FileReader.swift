public import ApsuleKit
internal import CHostCore
internal import Glibc

/// Reads whole small files.
public enum FileReader {
    public static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// - Throws: `host.file_error` with the path, also for a file over the limit or one that is no regular file.
    public static func read(_ path: String, limit: Int = 16 << 20) throws(HostError) -> [UInt8] {
        let file = host_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0)
        guard file >= 0 else { throw failure(path, String(cString: strerror(-file))) }
        defer { close(file) }
        return try read(file, path, limit: limit)
    }

    /// Reads a file beneath a folder; nil where there is none.
    ///
    /// Links that lead out are refused.
    public static func read(_ path: String, beneath folder: OwnedFile, limit: Int = 16 << 20) throws(HostError)
        -> [UInt8]?
    {
        guard !path.utf8.contains(0) else { return nil }
        let file = host_open_beneath(folder.raw, path, O_RDONLY | O_NONBLOCK, 0)
        if file == -ENOENT || file == -ENOTDIR { return nil }
        guard file >= 0 else {
            throw failure(path, file == -EXDEV ? "leads out of the project" : String(cString: strerror(-file)))
        }
        defer { close(file) }
        return try read(file, path, limit: limit)
    }

    /// Reads an open file from its start.
    public static func read(_ file: OwnedFile, _ name: String, limit: Int = 64 << 20) throws(HostError) -> [UInt8] {
        try read(file.raw, name, limit: limit)
    }

    static func read(_ file: Int32, _ path: String, limit: Int) throws(HostError) -> [UInt8] {
        var info = stat()
        guard fstat(file, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
            throw failure(path, "is not a regular file")
        }
        guard info.st_size <= limit else { throw failure(path, "is larger than \(limit) bytes") }
        var bytes = [UInt8](repeating: 0, count: Int(info.st_size) + 1)
        var used = 0
        while true {
            let room = bytes.count - used
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(file, buffer.baseAddress.map { $0 + used }, room, off_t(used))
            }
            guard count >= 0 else { throw failure(path, String(cString: strerror(errno))) }
            if count == 0 {
                bytes.removeLast(room)
                return bytes
            }
            used += count
            guard used <= limit else { throw failure(path, "is larger than \(limit) bytes") }
            // Files of /proc and /sys say size 0 and are longer.
            if used == bytes.count { bytes.append(contentsOf: repeatElement(0, count: max(4_096, used))) }
        }
    }

    private static func failure(_ path: String, _ reason: String) -> HostError {
        HostError("host.file_error", "\(path): \(reason)", details: ["path": .string(path)])
    }
}
