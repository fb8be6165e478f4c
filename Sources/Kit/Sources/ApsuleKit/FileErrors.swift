internal import Glibc

/// What an errno of a sandbox path means to a caller.
enum FileErrors {
    static func error(family: String, path: String, errno code: Int32) -> HostError {
        let (reason, message): (String, String) =
            switch code {
            case EXDEV, ELOOP: ("outside_sandbox", "leads out of the project's files")
            case ENOENT, ENOTDIR: ("not_found", "does not exist")
            case EACCES, EPERM: ("not_permitted", "may not be opened by this call")
            case EISDIR: ("is_a_directory", "is a directory")
            case EEXIST: ("already_exists", "is there already")
            default: ("file_error", String(cString: strerror(code)))
            }
        return HostError("\(family).\(reason)", "\(path): \(message)", details: ["path": .string(path)])
    }
}
