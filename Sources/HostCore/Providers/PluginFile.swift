import ApsuleKit
import CHostCore
import Glibc

/// A plugin file, read without being run.
enum PluginFile {
    static let maximumDescriptor = 4 << 20
    static let maximumSize = 256 << 20

    /// Checks a file and reads its descriptor.
    ///
    /// - Throws: `plugin.<reason>`, `descriptor.invalid`.
    static func descriptor(of path: String, isBundled: Bool) throws(HostError) -> Descriptor {
        let bytes = try FileReader.read(path, limit: maximumSize)
        return try Descriptor(parsing: try TempELF.descriptor(bytes), file: path)
    }
}
