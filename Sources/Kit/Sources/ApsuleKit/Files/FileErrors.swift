internal import Glibc

/// What an errno of a sandbox path means to a caller.
enum FileErrors {
    static func error(family: String, path: String, errno code: Int32) -> HostError {
        let (reason, message): (String, String) =
            switch code {
            case EXDEV, ELOOP: ("outside_sandbox", "leads out of the project's files")
            case ENOENT, ENOTDIR: ("not_found", "does not exist")
            case EACCES, EPERM, EROFS: ("not_permitted", "may not be opened by this call")
            // A FIFO without a reader, a socket, a device without a driver.
            case ENXIO, ENODEV: ("not_a_file", "is not a file")
            case EISDIR: ("is_a_directory", "is a directory")
            case EEXIST: ("already_exists", "is there already")
            case ENAMETOOLONG: ("name_too_long", "a name has more than 255 bytes, or the path more than 4095")
            case ENOSPC, EDQUOT: ("full", "there is no space on the disk")
            default: ("file_error", String(cString: strerror(code)))
            }
        return HostError("\(family).\(reason)", "\(path): \(message)", details: ["path": .string(path)])
    }
}

extension Call {
    /// What the system's refusal to do something with a path of the project's files means.
    ///
    /// - Returns: `<family>.<reason>`: `outside_sandbox`, `not_found`, `not_permitted`, `not_a_file`, `is_a_directory`, `already_exists`,
    ///   `name_too_long`, `full`, `file_error`; `details.path`.
    public func fileError(_ path: String, errno code: Int32) -> HostError {
        FileErrors.error(family: link.family, path: path, errno: code)
    }
}
