import Foundation
import Glibc

/// A Unix socket that accepts and then says nothing.
final class SilentSocket {
    private let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    private let path = FileManager.default.temporaryDirectory.appending(path: "apsule-silent-\(UUID())").path
    var address: String { "unix:path=\(path)" }

    init() throws {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(descriptor, 4) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }
}
