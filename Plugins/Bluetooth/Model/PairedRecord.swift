import ApsuleKit
internal import Glibc
internal import Synchronization

/// Which devices this project has paired, kept in the family's folder: those it may also unpair.
final class PairedRecord: Sendable {
    private static let fileName = "paired"
    private let folder: Int32
    private let lock = Mutex(())

    init(folder: Int32) { self.folder = folder }

    func contains(_ id: String) -> Bool { lock.withLock { _ in read().contains(id) } }

    func add(_ id: String) throws(HostError) {
        try lock.withLock { _ throws(HostError) in
            let ids = read()
            if !ids.contains(id) { try write(ids + [id]) }
        }
    }

    func remove(_ id: String) throws(HostError) {
        try lock.withLock { _ throws(HostError) in try write(read().filter { $0 != id }) }
    }

    /// One id a line.
    private func read() -> [String] {
        let file = openat(folder, Self.fileName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = Glibc.read(file, &bytes, bytes.count)
        return count > 0
            ? String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init) : []
    }

    /// Replaces the file as a whole.
    private func write(_ ids: [String]) throws(HostError) {
        let bytes = Array(ids.suffix(1024).joined(separator: "\n").utf8)
        let temporary = "\(Self.fileName).new"
        let file = openat(folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure() }
        let isWritten = Glibc.write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        close(file)
        guard isWritten, renameat(folder, temporary, folder, Self.fileName) == 0 else { throw failure() }
        fsync(folder)
    }

    private func failure() -> HostError {
        .unavailable(
            "bluetooth", "The pairing cannot be noted: \(String(cString: strerror(errno))).",
            fix: "Check the owner, mode and free space of the data folder (apsule doctor).")
    }
}
