import Glibc

/// Bytes of a file, each read checked against its size.
///
/// A file is read piece by piece, not mapped: one that shrinks meanwhile is a short read and no SIGBUS.
struct ELFSource: Sendable {
    private enum Storage: Sendable {
        case bytes([UInt8])
        case file(Int32)
    }

    private let storage: Storage
    let size: UInt64

    init(_ bytes: [UInt8]) { (storage, size) = (.bytes(bytes), UInt64(bytes.count)) }

    /// The descriptor stays the caller's and open while this is used; nil where it is no regular file.
    init?(fileDescriptor: Int32) {
        var status = stat()
        guard fstat(fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        (storage, size) = (.file(fileDescriptor), UInt64(max(0, status.st_size)))
    }

    func contains(_ offset: UInt64, _ count: UInt64) -> Bool { offset <= size && count <= size - offset }

    /// `count` bytes at `offset`; nil where the file is too short.
    func read(_ offset: UInt64, _ count: UInt64) -> ELFBytes? {
        guard contains(offset, count), let first = Int(exactly: offset), let length = Int(exactly: count) else {
            return nil
        }
        switch storage {
        case .bytes(let bytes): return ELFBytes(bytes: Array(bytes[first..<(first + length)]))
        case .file(let descriptor):
            let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, done in
                while done < length {
                    let got = pread(descriptor, buffer.baseAddress.map { $0 + done }, length - done, first + done)
                    if got < 0, errno == EINTR { continue }
                    guard got > 0 else { break }
                    done += got
                }
            }
            return bytes.count == length ? ELFBytes(bytes: bytes) : nil
        }
    }
}

/// A piece of a file with little-endian integers; what lies beyond it reads as 0.
struct ELFBytes: Sendable {
    let bytes: [UInt8]

    func integer<Value: FixedWidthInteger & UnsignedInteger>(_ offset: Int, as: Value.Type = Value.self) -> Value {
        guard offset >= 0, offset <= bytes.count - MemoryLayout<Value>.size else { return 0 }
        return bytes.withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Value.self)) }
    }

    /// The text up to the next zero byte; nil where there is none within the piece.
    func text(_ offset: UInt64) -> String? {
        guard offset < UInt64(bytes.count) else { return nil }
        let rest = bytes[Int(offset)...]
        guard let end = rest.firstIndex(of: 0) else { return nil }
        return String(decoding: rest[..<end], as: UTF8.self)
    }
}
