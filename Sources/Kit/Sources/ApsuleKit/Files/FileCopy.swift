internal import CFiles
internal import Glibc

extension Call {
    /// Copies what is left of one open file to the position of another, until the call is cancelled.
    ///
    /// - Parameter path: for messages.
    /// - Returns: how many bytes.
    /// - Throws: `<family>.full`, `<family>.file_error`, `host.cancelled`.
    @discardableResult
    public func copy(_ source: Int32, to destination: Int32, path: String) throws(HostError) -> Int {
        var total = 0
        while true {
            if isCancelled { throw .cancelled }
            let count = files_copy(source, destination, 4 << 20)
            if count == 0 { return total }
            guard count > 0 else { throw fileError(path, errno: Int32(-count)) }
            total += Int(count)
        }
    }
}

extension FilePlace {
    /// Makes everything durable that was written on the place's file system.
    public func flushAll() throws(HostError) {
        let problem = files_sync(folder)
        guard problem == 0 else { throw error(errno: problem) }
    }
}
