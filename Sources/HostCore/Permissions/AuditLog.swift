public import ApsuleKit
internal import CHostCore
internal import Glibc
internal import Synchronization

/// What was decided, one JSON line each: `audit.jsonl` in the state folder, 0600, rotated at 1 MiB, four kept.
///
/// Denials, prompts, grants and revocations are written at once; allowed calls as one line an operation, scope value
/// and minute, with a count. Several processes may write it.
public final class AuditLog: Sendable {
    static let maximumSize: off_t = 1 << 20
    static let kept = 4

    private let folder: SecureFolder
    private let state: Mutex<State>
    private let report: @Sendable (HostError) -> Void

    private struct State {
        /// -1 while it cannot be opened.
        var file: Int32 = -1
        /// The last line was cut short by a full disk: the next starts on a line of its own.
        var isCut = false
        var hasComplained = false
    }

    /// - Parameter report: hears, once, that lines cannot be written.
    /// - Throws: `host.state_unusable`, `audit.not_owner_only`.
    public init(state: String, report: @escaping @Sendable (HostError) -> Void = { _ in }) throws(HostError) {
        folder = try SecureFolder.make(state)
        try folder.checkOwner("audit.jsonl", code: "audit.not_owner_only")
        self.report = report
        self.state = Mutex(State(file: Self.open(folder.descriptor)))
    }

    deinit { state.withLock { if $0.file >= 0 { close($0.file) } } }

    private static func open(_ folder: Int32) -> Int32 {
        let file = host_openat(folder, "audit.jsonl", O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
        if file >= 0 { fchmod(file, 0o600) }
        return file
    }

    public func write(_ event: String, _ identity: ProjectIdentity, _ members: [JSON.Member]) {
        let line: JSON = .object(
            [
                .init("time", .int(Clock.wall)), .init("event", .string(event)), .init("project", .string(identity.id)),
                .init("origin", .string(identity.origin)),
            ] + members)
        let bytes = line.bytes + [0x0a]
        let failure = state.withLock { state -> Int32? in
            follow(&state.file, adding: off_t(bytes.count))
            guard append(state.isCut ? [0x0a] + bytes : bytes, &state) else {
                defer { state.hasComplained = true }
                return state.hasComplained ? nil : errno
            }
            return nil
        }
        guard let failure else { return }
        let reason = String(cString: strerror(failure))
        report(
            HostError(
                "audit.not_written", "The audit file \(folder.path)/audit.jsonl cannot be written: \(reason).",
                details: [
                    "path": .string(folder.path + "/audit.jsonl"), "reason": .string(reason),
                    "fix": "Free some space, or use --state DIR.",
                ]))
    }

    /// One write a line: lines of several processes do not mix.
    private func append(_ bytes: [UInt8], _ state: inout State) -> Bool {
        while true {
            let count = bytes.withUnsafeBytes { Glibc.write(state.file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count == bytes.count {
                state.isCut = false
                return true
            }
            if count >= 0 {
                state.isCut = state.isCut || count > 0
                errno = ENOSPC
            }
            return false
        }
    }

    /// Keeps to the file that is called `audit.jsonl`, which another process may have rotated, and rotates it when it
    /// is full.
    private func follow(_ file: inout Int32, adding count: off_t) {
        for _ in 0..<3 {
            var mine = stat()
            var named = stat()
            guard file >= 0, fstat(file, &mine) == 0,
                fstatat(folder.descriptor, "audit.jsonl", &named, AT_SYMLINK_NOFOLLOW) == 0, mine.st_ino == named.st_ino
            else {
                reopen(&file)
                continue
            }
            guard mine.st_size + count > Self.maximumSize else { return }
            // Whoever has the lock rotates; the others find another file when they get it.
            guard flock(file, LOCK_EX) == 0 else { return }
            if fstatat(folder.descriptor, "audit.jsonl", &named, AT_SYMLINK_NOFOLLOW) == 0, mine.st_ino == named.st_ino
            {
                rotate()
            }
            reopen(&file)
        }
    }

    private func reopen(_ file: inout Int32) {
        if file >= 0 { close(file) }
        file = Self.open(folder.descriptor)
    }

    private func rotate() {
        for index in stride(from: Self.kept - 1, through: 1, by: -1) {
            renameat(folder.descriptor, "audit.\(index).jsonl", folder.descriptor, "audit.\(index + 1).jsonl")
        }
        renameat(folder.descriptor, "audit.jsonl", folder.descriptor, "audit.1.jsonl")
    }
}
