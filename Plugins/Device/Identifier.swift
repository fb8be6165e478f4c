import ApsuleKit
import Glibc

/// A random UUID, kept in the family's private folder: it names this project on this machine and says nothing else.
enum Identifier {
    private static let name = "identifier"

    /// The identifier; the first call makes it, and of two processes at once one wins for both.
    static func read(_ folder: Int32) throws -> String {
        if let known = stored(folder) { return known }
        let uuid = make()
        let draft = ".\(uuid)"
        let descriptor = openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure }
        let bytes = Array(uuid.utf8)
        let isWritten = write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        close(descriptor)
        defer { unlinkat(folder, draft, 0) }
        guard isWritten else { throw failure }
        if linkat(folder, draft, folder, name, 0) != 0 {
            if let known = stored(folder) { return known }
            // What is there is damaged.
            guard renameat(folder, draft, folder, name) == 0 else { throw failure }
        }
        fsync(folder)
        return uuid
    }

    private static var failure: HostError { HostError("device.file_error", String(cString: strerror(errno))) }

    private static func stored(_ folder: Int32) -> String? {
        let descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
        }
        let isDigit: (UInt8) -> Bool = { Character(Unicode.Scalar($0)).isHexDigit || $0 == UInt8(ascii: "-") }
        return bytes.count == 36 && bytes.allSatisfy(isDigit) ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// Version 4 (RFC 9562).
    private static func make() -> String {
        var digits = (0..<32).map { _ in Int.random(in: 0..<16) }
        digits[12] = 4
        digits[16] = 8 | digits[16] & 3
        let text = digits.map { String($0, radix: 16) }
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { text[$0].joined() }.joined(separator: "-")
    }
}
