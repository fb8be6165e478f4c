internal import Glibc

/// Writes whole buffers.
public enum FileWriter {
    /// Writes all of the bytes, however many calls that takes.
    ///
    /// - Returns: the errno of what failed, or 0.
    public static func write(_ bytes: [UInt8], to file: Int32) -> Int32 {
        bytes.withUnsafeBytes { write($0, to: file) }
    }

    /// Writes all of the memory, which is only read before this returns.
    ///
    /// - Returns: the errno of what failed, or 0.
    public static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Int32 {
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            // Nothing written and no error: a disk that takes no more.
            if count <= 0 { return count == 0 ? ENOSPC : errno }
            done += count
        }
        return 0
    }
}
