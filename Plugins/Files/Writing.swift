import ApsuleKit
import Glibc

extension FilesFamily {
    /// Writes a whole file, or to the end of one.
    ///
    /// - Parameter call: `{path, data: {text} | {base64} | Uint8Array, append?: boolean, overwrite?: boolean}`.
    /// - Returns: `{size: byte}` of the file, once it is on the disk.
    /// - Throws: `files.already_exists` where `overwrite` is false, `files.linked`, `files.full`, …
    func write(_ call: Call) throws -> JSON {
        let path: String = try call["path"]
        let content: Content = try call["data"]
        let overwrites = try call["overwrite"] ?? true
        if try call["append"] ?? false {
            guard overwrites else {
                throw HostError.invalidArgument("overwrite", expected: "true where append is", got: "false")
            }
            return ["size": .int(Int64(try append(call, path, content.bytes)))]
        }
        let draft = try FileDraft(call, path: path)
        try draft.write(content.bytes)
        try draft.commit(replacing: overwrites)
        return ["size": .int(Int64(content.bytes.count))]
    }

    /// Adds to the end of a file, which is made where it is missing.
    private func append(_ call: Call, _ path: String, _ bytes: [UInt8]) throws(HostError) -> Int {
        let place = try FilePlace(call, path)
        let file = try call.open(path, flags: O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK)
        defer { Glibc.close(file) }
        // Another that adds to it would be cut off with what failed here.
        flock(file, LOCK_EX)
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw HostError("files.not_a_file", "\(path): is not a file", details: ["path": .string(path)])
        }
        guard status.st_nlink == 1 else {
            throw HostError(
                "files.linked", "\(path): has another name, perhaps outside of the project's files",
                details: ["path": .string(path)])
        }
        var problem = FileWriter.write(bytes, to: file)
        if problem == 0, fsync(file) != 0 { problem = errno }
        guard problem == 0 else {
            ftruncate(file, status.st_size)
            throw call.fileError(path, errno: problem)
        }
        if status.st_size == 0 { try place.flush() }
        return Int(status.st_size) + bytes.count
    }

    /// Makes a folder, and those above it that are missing.
    ///
    /// - Parameter call: `{path}`.
    /// - Returns: whether any was made; false where it was there.
    /// - Throws: `files.already_exists` for a file of that name, …
    func createDirectory(_ call: Call) throws -> JSON {
        let path: String = try call["path"]
        // Before any of them is made.
        guard path.utf8.count < PATH_MAX, path.utf8.split(separator: UInt8(ascii: "/")).allSatisfy({ $0.count < 256 })
        else {
            throw call.fileError(path, errno: ENAMETOOLONG)
        }
        var made = false
        for end in path.utf8.indices + [path.utf8.endIndex]
        where end == path.utf8.endIndex || path.utf8[end] == UInt8(ascii: "/") {
            let prefix = String(path[..<end])
            // The project's own folder, or one that the path has been through.
            if prefix.isEmpty || [".", ".."].contains(prefix) || prefix.hasSuffix("/") { continue }
            if prefix.hasSuffix("/.") || prefix.hasSuffix("/..") { continue }
            let place = try FilePlace(call, prefix)
            if mkdirat(place.folder, place.name, 0o700) == 0 {
                made = true
                try place.flush()
            } else if errno != EEXIST {
                throw place.error(errno: errno)
            }
        }
        _ = try openFolder(call, path, otherwise: "already_exists")
        return .bool(made)
    }
}
