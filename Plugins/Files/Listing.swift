import ApsuleKit
import Glibc

extension FilesFamily {
    /// Lists a folder in the order of the names' bytes.
    ///
    /// - Parameter call: `{path?, limit?: integer (1 to 1000), cursor?: string}`.
    /// - Returns: `{entries: [{name, nameBase64?, type, size?: byte, modified: ms}], cursor: string | null}`. `nameBase64`
    ///   is there where the name is no UTF-8. The cursor goes on behind the last name, whatever happened to it.
    /// - Throws: `files.not_a_directory`, `host.invalid_argument` for a cursor that is none, …
    func list(_ call: Call) throws -> JSON {
        let path = try call["path"] ?? "."
        let folder = try openFolder(call, path)
        var page = Page(limit: try call["limit"] ?? 1000, after: try Self.start(call))
        try folder.forEachName { (name) throws(HostError) in
            if call.isCancelled { throw .cancelled }
            page.insert(name)
        }
        let entries: [JSON] = page.names.compactMap { name in
            folder.status(name).map { Self.entry(name, $0) }
        }
        let last = page.isLast ? nil : page.names.last
        return [
            "entries": .array(entries),
            "cursor": last.map { .string(Base64.encode(Self.bytes($0), url: true)) } ?? .null,
        ]
    }

    private static func start(_ call: Call) throws(HostError) -> RawName? {
        guard let cursor: String = try call["cursor"] else { return nil }
        guard let bytes = Base64.decode(cursor), !bytes.contains(0) else {
            throw .invalidArgument("cursor", expected: "the cursor of a page before", got: JSON.string(cursor).summary)
        }
        return bytes.map { CChar(bitPattern: $0) } + [0]
    }

    private static func bytes(_ name: RawName) -> [UInt8] { name.dropLast().map { UInt8(bitPattern: $0) } }

    private static func entry(_ name: RawName, _ status: stat) -> JSON {
        let bytes = bytes(name)
        var entry: JSON = ["name": .string(text(name))]
        if String(validating: bytes, as: UTF8.self) == nil { entry.set("nameBase64", .string(Base64.encode(bytes))) }
        entry.set("type", .string(type(of: status)))
        if status.isFile { entry.set("size", .int(Int64(status.st_size))) }
        let time = status.st_mtim
        entry.set("modified", .int(Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000))
        return entry
    }

    private static func type(of status: stat) -> String {
        switch status.st_mode & S_IFMT {
        case S_IFREG: "file"
        case S_IFDIR: "directory"
        case S_IFLNK: "link"
        default: "other"
        }
    }

    /// The first names behind a place, of however many.
    private struct Page {
        private(set) var names: [RawName] = []
        private(set) var isLast = true
        private let limit: Int
        private let start: RawName?

        init(limit: Int, after start: RawName?) { (self.limit, self.start) = (limit, start) }

        mutating func insert(_ name: UnsafePointer<CChar>) {
            if let start, strcmp(name, start) <= 0 { return }
            if names.count == limit {
                isLast = false
                if let last = names.last, strcmp(name, last) > 0 { return }
                names.removeLast()
            }
            var (low, high) = (0, names.count)
            while low < high {
                let middle = (low + high) / 2
                if strcmp(names[middle], name) < 0 { low = middle + 1 } else { high = middle }
            }
            names.insert(RawName(UnsafeBufferPointer(start: name, count: strlen(name) + 1)), at: low)
        }
    }
}
