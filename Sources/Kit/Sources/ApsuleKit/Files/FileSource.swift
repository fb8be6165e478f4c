internal import Glibc

/// A regular file beneath the project's files, open for reading.
///
/// Any thread.
public final class FileSource: Sendable {
    /// It stays this object's.
    public let descriptor: Int32
    /// Bytes, when it was opened.
    public let size: Int
    private let path: String
    private let family: String

    /// - Throws: `<family>.<reason>` as `Call.open`; `not_a_file` for a folder, FIFO, socket or device.
    public init(_ call: Call, path: String) throws(HostError) {
        (self.path, family) = (path, call.link.family)
        // NONBLOCK: a FIFO that nobody writes to would hold the thread.
        let file = try call.open(path, flags: O_RDONLY | O_NONBLOCK)
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            throw HostError("\(family).not_a_file", "\(path): is not a file", details: ["path": .string(path)])
        }
        (descriptor, size) = (file, Int(status.st_size))
    }

    deinit { close(descriptor) }

    /// Reads into memory from a place in the file, whose position does not move.
    ///
    /// - Returns: how many bytes, which is less than asked for at the end only.
    /// - Throws: `<family>.file_error`.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(HostError) -> Int {
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileErrors.error(family: family, path: path, errno: errno) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Fills the buffer from a place in the file.
    ///
    /// - Returns: how many bytes, which is less than the buffer takes at the end only.
    public func read(into buffer: inout [UInt8], at offset: Int) throws(HostError) -> Int {
        try buffer.withUnsafeMutableBufferPointer { (bytes) throws(HostError) in
            try read(into: UnsafeMutableRawBufferPointer(bytes), at: offset)
        }
    }

    /// Reads bytes from a place in the file.
    public func read(_ count: Int, at offset: Int) throws(HostError) -> [UInt8] {
        var problem: HostError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            do throws(HostError) {
                written = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        return bytes
    }
}
