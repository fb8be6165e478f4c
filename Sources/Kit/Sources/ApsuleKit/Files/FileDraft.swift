internal import CFiles
internal import Glibc
internal import Synchronization

/// A file beneath the project's files that gets its name only when it is complete.
///
/// Whoever reads finds the old file or the new one, never a part of it. A draft that is not committed leaves nothing behind:
/// it has no name, so that a killed process takes it along.
///
///     let draft = try FileDraft(call, path: "report.pdf")
///     try draft.write(bytes)           // or write to draft.descriptor
///     try draft.commit()               // without it: discarded with the last reference
///
/// Any thread.
public final class FileDraft: Sendable {
    /// Open for reading and writing, mode 0600; it stays this object's.
    public let descriptor: Int32
    private let place: FilePlace
    /// The name it has meanwhile where the file system knows no files without one.
    private let temporary: String?
    private let isDone = Atomic(false)

    /// Starts a draft of a file of the call's project, whose folder must be there.
    ///
    /// - Throws: `<family>.<reason>` as `FilePlace` and `Call.fileError`.
    public convenience init(_ call: Call, path: String) throws(HostError) {
        try self.init(at: FilePlace(call, path))
    }

    /// Starts a draft of a file of that name.
    public convenience init(at place: consuming FilePlace) throws(HostError) {
        try self.init(at: place, knowsUnnamed: true)
    }

    /// - Parameter knowsUnnamed: whether the file system may have files without a name; network and older stacked ones do not.
    init(at place: consuming FilePlace, knowsUnnamed: Bool) throws(HostError) {
        var temporary: String?
        var file = knowsUnnamed ? openat(place.folder, ".", Self.unnamed | O_RDWR | O_CLOEXEC, 0o600) : -1
        if file < 0, !knowsUnnamed || [EOPNOTSUPP, EISDIR, EINVAL].contains(errno) {
            let name = FilePlace.temporaryName()
            file = openat(place.folder, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600)
            temporary = name
        }
        guard file >= 0 else { throw place.error(errno: errno) }
        (descriptor, self.temporary) = (file, temporary)
        self.place = place
    }

    /// O_TMPFILE, a macro that Swift does not see.
    private static let unnamed = 0o20000000 | O_DIRECTORY

    deinit {
        discard()
        close(descriptor)
    }

    /// Writes all of the bytes at the descriptor's position.
    ///
    /// - Throws: `<family>.full`, `<family>.file_error`.
    public func write(_ bytes: [UInt8]) throws(HostError) { try check(FileWriter.write(bytes, to: descriptor)) }

    /// Writes all of the memory, which is only read before this returns.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(HostError) {
        try check(FileWriter.write(bytes, to: descriptor))
    }

    /// Drops what was written.
    public func restart() throws(HostError) {
        try check(ftruncate(descriptor, 0) == 0 && lseek(descriptor, 0, SEEK_SET) == 0 ? 0 : errno)
    }

    private func check(_ problem: Int32) throws(HostError) {
        if problem != 0 { throw place.error(errno: problem) }
    }

    /// Flushes the file, gives it its name, and flushes the folder: what this returns from survives a crash of anything.
    ///
    /// A link at the place is replaced, not followed.
    ///
    /// - Parameter replacing: whether a file that is there is replaced; otherwise `<family>.already_exists`.
    /// - Throws: `<family>.<reason>`; the draft is discarded then, and what was there is still there.
    public func commit(replacing: Bool = true) throws(HostError) {
        guard !isDone.exchange(true, ordering: .sequentiallyConsistent) else {
            throw HostError("\(place.family).file_error", "\(place.path): was committed or discarded before")
        }
        var problem = fsync(descriptor) == 0 ? 0 : errno
        if problem == 0 {
            problem = temporary.map { rename($0, replacing) } ?? link(replacing)
        }
        guard problem == 0 else {
            if let temporary { unlinkat(place.folder, temporary, 0) }
            throw place.error(errno: problem)
        }
        try place.flush()
    }

    /// Lets go of what was written; nothing happens after a commit.
    public func discard() {
        guard !isDone.exchange(true, ordering: .sequentiallyConsistent) else { return }
        if let temporary { unlinkat(place.folder, temporary, 0) }
    }

    /// Gives a name to a file that has none.
    ///
    /// - Returns: the errno of what failed, or 0.
    private func link(_ replacing: Bool) -> Int32 {
        // linkat never replaces.
        let problem = link(as: place.name)
        guard problem == EEXIST, replacing else { return problem }
        let name = FilePlace.temporaryName()
        let obstacle = link(as: name)
        guard obstacle == 0 else { return obstacle }
        let refusal = rename(name, true)
        if refusal != 0 { unlinkat(place.folder, name, 0) }
        return refusal
    }

    private func link(as name: String) -> Int32 {
        // By its descriptor alone (AT_EMPTY_PATH) only with a capability before Linux 6.10.
        linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", place.folder, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno
    }

    private func rename(_ name: String, _ replacing: Bool) -> Int32 {
        files_rename(place.folder, name, place.folder, place.name, replacing ? 1 : 0)
    }
}
