public import ApsuleKit
internal import CHostCore
internal import Glibc

/// Who a project is: its id, and where it comes from.
///
/// The same id from another place is another project.
public struct ProjectIdentity: Sendable, Hashable {
    public let id: String
    /// `folder:<path>#<inode>@<file system>`, `file:…`, or `cli`.
    public let origin: String

    public init(id: String, origin: String) { (self.id, self.origin) = (id, origin) }

    /// The command line itself, `apsule call`.
    public static let commandLine = ProjectIdentity(id: "apsule.cli", origin: "cli")

    /// The identity of a folder or a single script.
    ///
    /// - Throws: `manifest.not_found`.
    public init(id: String, path: String) throws(HostError) {
        guard let real = realpath(path, nil) else {
            throw HostError("manifest.not_found", "\(path): \(String(cString: strerror(errno)))")
        }
        defer { free(real) }
        var info = stat()
        var fileSystem: UInt64 = 0
        guard stat(real, &info) == 0, host_file_system(real, &fileSystem) == 0 else {
            throw HostError("manifest.not_found", "\(path): \(String(cString: strerror(errno)))")
        }
        let place = try HostPaths.text(real, "The project")
        let kind = info.st_mode & S_IFMT == S_IFDIR ? "folder" : "file"
        self.id = id
        // A single script is replaced at each save by many editors: its inode would change with it.
        let inode = kind == "folder" ? String(info.st_ino) : "-"
        origin = "\(kind):\(place)#\(inode)@\(String(fileSystem, radix: 16))"
    }

    /// The origin as a person knows it: the path alone.
    public var place: String {
        guard let colon = origin.firstIndex(of: ":"), let mark = origin.lastIndex(of: "#") else { return origin }
        return String(origin[origin.index(after: colon)..<mark])
    }

    /// A folder name for it: the id and half of the origin's SHA-256.
    ///
    /// Nobody can make a second origin of the same name, which would be given the first one's data.
    var folderName: String { "\(id)-\(Hash.sha256(Array(origin.utf8)).prefix(32))" }
}

enum Hash {
    /// SHA-256 in hexadecimal digits.
    static func sha256(_ bytes: [UInt8]) -> String {
        let digest = [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
            host_sha256(bytes, bytes.count, digest.baseAddress)
            count = 32
        }
        return String(decoding: digest.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
