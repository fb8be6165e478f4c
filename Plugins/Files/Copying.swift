import ApsuleKit
import Glibc

extension FilesFamily {
    /// Copies a file, or a folder with all that is in it.
    ///
    /// - Parameter call: `{source, destination, overwrite?: boolean}`.
    /// - Returns: `{copied: integer, size: byte}`, files and folders, and the bytes of the files.
    /// - Throws: `files.already_exists` unless `overwrite` is true, and always for a folder; `files.into_itself`,
    ///   `files.too_many`, `files.too_deep`, … Nothing of the copy is left then.
    func copy(_ call: Call) throws -> JSON {
        let source: String = try call["source"]
        let destination: String = try call["destination"]
        var tree = Tree(call)
        if let file = try openFile(call, source) {
            let draft = try FileDraft(call, path: destination)
            tree.size = try call.copy(file.descriptor, to: draft.descriptor, path: destination)
            try draft.commit(replacing: try call["overwrite"] ?? false)
            tree.count = 1
        } else {
            let folder = try openFolder(call, source)
            try tree.copy(folder, to: try FilePlace(call, destination))
        }
        return ["copied": .int(Int64(tree.count)), "size": .int(Int64(tree.size))]
    }

    /// The file of that path; nil for a folder.
    private func openFile(_ call: Call, _ path: String) throws(HostError) -> FileSource? {
        do throws(HostError) { return try FileSource(call, path: path) } catch {
            guard error.code == "files.not_a_file", (try? openFolder(call, path)) != nil else { throw error }
            return nil
        }
    }
}
