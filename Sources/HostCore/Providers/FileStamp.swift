internal import Glibc

/// What tells one state of a file from another without reading it.
enum FileStamp {
    /// nil where there is no file.
    static func of(_ path: String) -> String? {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        let changed = "\(info.st_ctim.tv_sec).\(info.st_ctim.tv_nsec)"
        return "\(info.st_dev):\(info.st_ino):\(info.st_size):\(changed):\(info.st_mode):\(info.st_uid)"
    }
}
