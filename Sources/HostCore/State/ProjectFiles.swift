public import ApsuleKit
internal import CHostCore
internal import Glibc
internal import Synchronization

/// One project's sandbox: `files`, which paths of scripts lie beneath, and a private folder for each family.
public final class ProjectFiles: Sendable {
    private let root: Int32
    private let files: Int32
    /// The folder that holds it all.
    public let path: String
    private let familyFolders = Mutex<[String: Int32]>([:])

    /// Opens `sandbox/<id>-<hash of origin>` beneath the data folder, making it where it is missing.
    public init(data: String, identity: ProjectIdentity) throws(HostError) {
        let folder = try SecureFolder.make(data).folder("sandbox").folder(identity.folderName)
        let files = try folder.folder("files")
        path = folder.path
        root = dup(folder.descriptor)
        self.files = dup(files.descriptor)
    }

    /// Takes over a sandbox folder that the parent opened and passed on.
    public init(adopting folder: OwnedFile) throws(HostError) {
        root = folder.release()
        path = ""
        if mkdirat(root, "files", 0o700) != 0, errno != EEXIST { throw .system("The sandbox cannot be used", errno) }
        files = host_open_beneath(root, "files", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        guard files >= 0 else { throw .system("The sandbox cannot be used", -files) }
    }

    /// The sandbox folder, to pass it on.
    public func share() throws(HostError) -> OwnedFile {
        guard let file = OwnedFile.duplicate(root) else { throw .system("The sandbox cannot be passed on", errno) }
        return file
    }

    deinit {
        close(root)
        close(files)
        for folder in familyFolders.withLock({ $0.values }) { close(folder) }
    }

    /// Opens a path beneath the project's files: a descriptor, or -errno.
    func open(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        guard !path.utf8.contains(0) else { return -EINVAL }
        return host_open_beneath(files, path, flags, mode & 0o777)
    }

    /// A family's private folder: a descriptor that stays this object's, or -errno.
    func dataDirectory(_ family: String) -> Int32 {
        familyFolders.withLock { folders in
            if let folder = folders[family] { return folder }
            if mkdirat(root, family, 0o700) != 0, errno != EEXIST { return -errno }
            let folder = host_open_beneath(root, family, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
            if folder >= 0 { folders[family] = folder }
            return folder
        }
    }
}
