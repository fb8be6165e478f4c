import ApsuleKit
import Glibc

extension FilesFamily {
    /// Gives a file or folder another name, in another folder perhaps.
    ///
    /// - Parameter call: `{source, destination, overwrite?: boolean}`.
    /// - Returns: null, once it is on the disk.
    /// - Throws: `files.already_exists` unless `overwrite` is true, `files.not_empty`, `files.into_itself`, …
    func move(_ call: Call) throws -> JSON {
        let source = try FilePlace(call, try call["source"])
        let destination = try FilePlace(call, try call["destination"])
        let problem = source.rename(to: destination, replacing: try call["overwrite"] ?? false)
        guard problem == 0 else {
            if let refusal = Self.refusal(of: problem, source.path, destination.path) { throw refusal }
            if problem == ENOENT { throw source.error(errno: problem) }
            throw destination.error(errno: problem)
        }
        try destination.flush()
        try source.flush()
        return .null
    }

    /// Removes a file, a link or a folder.
    ///
    /// - Parameter call: `{path, recursive?: boolean}`.
    /// - Returns: `{deleted: integer}`, files and folders.
    /// - Throws: `files.not_empty` for a folder with something in it unless `recursive` is true, `files.too_deep`, …
    func delete(_ call: Call) throws -> JSON {
        let place = try FilePlace(call, try call["path"])
        guard let status = place.status else { throw place.error(errno: errno) }
        var tree = Tree(call)
        if status.isFolder, try call["recursive"] ?? false {
            try tree.remove(place)
        } else {
            guard unlinkat(place.folder, place.name, status.isFolder ? AT_REMOVEDIR : 0) == 0 else {
                let problem = errno
                if let refusal = Self.refusal(of: problem, place.path, place.path) { throw refusal }
                throw place.error(errno: problem)
            }
            tree.count = 1
        }
        try place.flush()
        return ["deleted": .int(Int64(tree.count))]
    }

    /// What only these operations are refused for.
    private static func refusal(of code: Int32, _ source: String, _ destination: String) -> HostError? {
        let (reason, message): (String, String)
        switch code {
        case ENOTEMPTY: (reason, message) = ("not_empty", "\(destination): is a folder that is not empty")
        case EINVAL: (reason, message) = ("into_itself", "\(source): cannot be moved into itself")
        case ENOTDIR: (reason, message) = ("not_a_directory", "\(destination): is no folder, as \(source) is")
        case EXDEV: (reason, message) = ("file_error", "\(destination): is on another file system; copy it")
        default: return nil
        }
        return HostError("files.\(reason)", message, details: ["path": .string(destination)])
    }
}
