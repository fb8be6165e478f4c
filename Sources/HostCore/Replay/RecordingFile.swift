public import ApsuleKit
internal import CHostCore
internal import Glibc

/// The file of a recording: opened by the parent, written or read by the worker.
public enum RecordingFile {
    /// Makes a file that only its owner can read.
    ///
    /// An older recording may be there, and is overwritten once the run starts; anything else is left alone.
    ///
    /// - Throws: `host.file_exists` for a file that is no recording, `host.file_error`.
    public static func create(_ path: String) throws(HostError) -> OwnedFile {
        let flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK
        let descriptor = host_openat(AT_FDCWD, path, flags, 0o600)
        guard descriptor >= 0 else { throw failure(path, String(cString: strerror(-descriptor))) }
        let file = OwnedFile(descriptor)
        var info = stat()
        guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
            throw failure(path, "is not a regular file")
        }
        guard info.st_uid == geteuid() else { throw failure(path, "belongs to somebody else") }
        if info.st_size > 0 {
            guard isRecording(file) else {
                throw HostError(
                    "host.file_exists", "\(path) is there already, and is no recording.",
                    details: ["path": .string(path), "fix": "Name another file, or remove this one."])
            }
        }
        // Held until the last process of the run is gone.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            throw failure(path, code == EWOULDBLOCK ? "another run records to it" : String(cString: strerror(code)))
        }
        guard fchmod(descriptor, 0o600) == 0 else { throw failure(path, String(cString: strerror(errno))) }
        return file
    }

    /// Opens a recording for replay.
    ///
    /// - Throws: `host.file_error`.
    public static func open(_ path: String) throws(HostError) -> OwnedFile {
        let descriptor = host_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0)
        guard descriptor >= 0 else { throw failure(path, String(cString: strerror(-descriptor))) }
        return OwnedFile(descriptor)
    }

    /// Reads a recording from its file.
    ///
    /// - Throws: `replay.invalid`, `host.file_error`.
    public static func read(_ file: OwnedFile, _ path: String) throws(HostError) -> Recording {
        try Recording(try FileReader.read(file, path, limit: Recording.maximumBytes), file: path)
    }

    private static func isRecording(_ file: OwnedFile) -> Bool {
        var start = [UInt8](repeating: 0, count: 4_096)
        let count = pread(file.raw, &start, start.count, 0)
        let line = start.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
        return (try? JSON(parsing: Array(line)))?["apsule"]?.stringValue == "recording"
    }

    private static func failure(_ path: String, _ reason: String) -> HostError {
        HostError(
            "host.file_error", "\(path): \(reason)", details: ["path": .string(path), "reason": .string(reason)])
    }
}
