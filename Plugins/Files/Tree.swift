import ApsuleKit
import Glibc

/// Works through a folder and all that is in it, until its call is cancelled.
///
/// Each step acts on one name in an open folder and follows no link, so that whatever is renamed meanwhile leads nowhere
/// else.
struct Tree {
    /// Files and folders so far.
    var count = 0
    /// Bytes of files that were copied.
    var size = 0
    private let call: Call
    /// Removes what it made itself, whatever happens.
    private var isCleaning = false

    /// Each level holds two descriptors.
    private static let deepest = 128
    private static let mostCopied = 100_000

    init(_ call: Call) { self.call = call }

    // MARK: Removing

    /// Removes a folder with all that is in it.
    mutating func remove(_ place: borrowing FilePlace) throws(HostError) {
        let descriptor = openat(place.folder, place.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw place.error(errno: errno) }
        try empty(Folder(adopting: descriptor, place.path, call), depth: 0)
        guard unlinkat(place.folder, place.name, AT_REMOVEDIR) == 0 else { throw place.error(errno: errno) }
        count += 1
    }

    private mutating func empty(_ folder: borrowing Folder, depth: Int) throws(HostError) {
        guard depth < Self.deepest || isCleaning else { throw tooDeep(folder.path) }
        for name in try folder.names() {
            try checkCancelled()
            if folder.status(name)?.isFolder == true {
                try empty(try folder.folder(name), depth: depth + 1)
                try unlink(name, in: folder, AT_REMOVEDIR)
            } else {
                try unlink(name, in: folder, 0)
            }
        }
    }

    private mutating func unlink(_ name: RawName, in folder: borrowing Folder, _ flags: Int32) throws(HostError) {
        if unlinkat(folder.descriptor, name, flags) == 0 {
            count += 1
        } else if errno != ENOENT {
            throw folder.error(name, errno: errno)
        }
    }

    // MARK: Copying

    /// Copies a folder to a place where nothing is: under another name until it is complete.
    mutating func copy(_ source: borrowing Folder, to place: borrowing FilePlace) throws(HostError) {
        if place.status != nil { throw place.error(errno: EEXIST) }
        let draft = try place.sibling(FilePlace.temporaryName())
        guard mkdirat(draft.folder, draft.name, 0o700) == 0 else { throw place.error(errno: errno) }
        do throws(HostError) {
            try fill(draft, from: source)
            // One flush of the file system is cheaper than one a file.
            try draft.flushAll()
            let problem = draft.rename(to: place, replacing: false)
            guard problem == 0 else { throw place.error(errno: problem) }
        } catch {
            var cleaner = Tree(call)
            cleaner.isCleaning = true
            try? cleaner.remove(draft)
            throw error
        }
        try place.flush()
    }

    private mutating func fill(_ draft: borrowing FilePlace, from source: borrowing Folder) throws(HostError) {
        let descriptor = openat(draft.folder, draft.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw draft.error(errno: errno) }
        let folder = Folder(adopting: descriptor, draft.path, call)
        guard let status = draft.status else { throw draft.error(errno: errno) }
        try copy(source, into: folder, avoiding: status, depth: 0)
    }

    private mutating func copy(
        _ source: borrowing Folder, into destination: borrowing Folder, avoiding draft: stat, depth: Int
    ) throws(HostError) {
        guard depth < Self.deepest else { throw tooDeep(source.path) }
        try take(source.path)
        for name in try source.names() {
            // One that is gone by now belongs to no copy.
            guard let status = source.status(name) else { continue }
            if status.isFolder {
                guard !status.isSame(as: draft) else {
                    throw refusal("into_itself", source.path, "cannot be copied into itself")
                }
                guard mkdirat(destination.descriptor, name, 0o700) == 0 else {
                    throw destination.error(name, errno: errno)
                }
                try copy(
                    try source.folder(name), into: try destination.folder(name), avoiding: draft, depth: depth + 1)
            } else {
                try copyFile(name, from: source, to: destination)
            }
        }
    }

    private mutating func copyFile(
        _ name: RawName, from source: borrowing Folder, to destination: borrowing Folder
    ) throws(HostError) {
        let path = "\(source.path)/\(text(name))"
        try take(path)
        let file = openat(source.descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            // ELOOP: a link; ENXIO: a socket.
            throw errno == ELOOP || errno == ENXIO ? notAFile(path) : source.error(name, errno: errno)
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.isFile else { throw notAFile(path) }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let copy = openat(destination.descriptor, name, flags, 0o600)
        guard copy >= 0 else { throw destination.error(name, errno: errno) }
        defer { close(copy) }
        size += try call.copy(file, to: copy, path: path)
    }

    // MARK: Limits

    private mutating func take(_ path: String) throws(HostError) {
        try checkCancelled()
        count += 1
        guard count <= Self.mostCopied else {
            throw HostError(
                "files.too_many", "More than \(Self.mostCopied) files and folders are not copied at once.",
                details: ["path": .string(path), "limit": .int(Int64(Self.mostCopied))])
        }
    }

    private func checkCancelled() throws(HostError) {
        if !isCleaning, call.isCancelled { throw .cancelled }
    }

    private func tooDeep(_ path: String) -> HostError {
        HostError(
            "files.too_deep", "Folders in more than \(Self.deepest) others are not gone through at once.",
            details: ["path": .string(path), "limit": .int(Int64(Self.deepest))])
    }

    private func notAFile(_ path: String) -> HostError {
        refusal("not_a_file", path, "is neither a file nor a folder, and is not copied")
    }

    private func refusal(_ reason: String, _ path: String, _ message: String) -> HostError {
        HostError("files.\(reason)", "\(path): \(message)", details: ["path": .string(path)])
    }
}
