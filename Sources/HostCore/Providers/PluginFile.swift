import ApsuleKit
import CHostCore
import Glibc

/// A plugin file, read without being run.
enum PluginFile {
    static let maximumDescriptor = PluginImage.largestDescriptor

    /// Checks a file and reads its descriptor.
    ///
    /// - Throws: `plugin.<reason>`, `descriptor.invalid`.
    static func descriptor(of path: String, isBundled: Bool) throws(HostError) -> Descriptor {
        let file = host_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0)
        guard file >= 0 else {
            throw HostError("plugin.not_readable", "\(path): \(String(cString: strerror(-file)))")
        }
        defer { close(file) }
        let image = try PluginImage(fileDescriptor: file)
        let descriptor = try Descriptor(parsing: image.descriptor, file: path)
        try image.check(family: descriptor.family, isBundled: isBundled)
        return descriptor
    }
}
