internal import Glibc

/// Writes whole buffers.
enum FileWriter {
    /// Writes all of the bytes, however many calls that takes.
    ///
    /// - Returns: the errno of what failed, or 0.
    static func write(_ bytes: [UInt8], to file: Int32) -> Int32 {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(file, $0.baseAddress.map { $0 + done }, bytes.count - done)
            }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return errno }
            done += count
        }
        return 0
    }
}
