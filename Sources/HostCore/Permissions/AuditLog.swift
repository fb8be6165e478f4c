public import ApsuleKit
internal import CHostCore
internal import Glibc
internal import Synchronization

/// What was decided, one JSON line each: `audit.jsonl` in the state folder, 0600, rotated at 1 MiB, four kept.
///
/// Denials, prompts, grants and revocations are written at once; allowed calls as one line an operation, scope value
/// and minute, with a count.
public final class AuditLog: Sendable {
    static let maximumSize: off_t = 1 << 20
    static let kept = 4

    private let folder: SecureFolder
    private let file: Mutex<Int32>

    /// - Throws: `host.state_unusable`.
    public init(state: String) throws(HostError) {
        folder = try SecureFolder.make(state)
        file = Mutex(Self.open(folder.descriptor))
    }

    deinit { file.withLock { _ = close($0) } }

    private static func open(_ folder: Int32) -> Int32 {
        host_openat(folder, "audit.jsonl", O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
    }

    public func write(_ event: String, _ identity: ProjectIdentity, _ members: [JSON.Member]) {
        let line: JSON = .object(
            [
                .init("time", .int(Clock.wall)), .init("event", .string(event)), .init("project", .string(identity.id)),
                .init("origin", .string(identity.origin)),
            ] + members)
        let bytes = line.bytes + [0x0a]
        file.withLock { file in
            var info = stat()
            if fstat(file, &info) == 0, info.st_size + off_t(bytes.count) > Self.maximumSize { rotate(&file) }
            // One write a line: lines of several processes do not mix.
            _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
        }
    }

    private func rotate(_ file: inout Int32) {
        for index in stride(from: Self.kept - 1, through: 1, by: -1) {
            renameat(folder.descriptor, "audit.\(index).jsonl", folder.descriptor, "audit.\(index + 1).jsonl")
        }
        renameat(folder.descriptor, "audit.jsonl", folder.descriptor, "audit.1.jsonl")
        close(file)
        file = Self.open(folder.descriptor)
    }
}
