public import ApsuleKit
internal import Glibc
internal import Synchronization

/// A file descriptor with one owner; closed with the last reference unless it was given away.
public final class OwnedFile: Sendable {
    private let descriptor: Atomic<Int32>

    public init(_ descriptor: Int32) { self.descriptor = Atomic(descriptor) }

    deinit {
        let raw = descriptor.load(ordering: .relaxed)
        if raw >= 0 { close(raw) }
    }

    /// The number, for as long as this object lives; -1 once it was given away.
    public var raw: Int32 { descriptor.load(ordering: .relaxed) }

    /// Gives the descriptor to the caller, who closes it; -1 if it is gone.
    public func release() -> Int32 { descriptor.exchange(-1, ordering: .relaxed) }

    /// A second descriptor of what `raw` names.
    public static func duplicate(_ raw: Int32) -> OwnedFile? {
        let copy = fcntl(raw, F_DUPFD_CLOEXEC, 3)
        return copy < 0 ? nil : OwnedFile(copy)
    }

    /// A connected pair of stream sockets.
    public static func socketPair() throws(HostError) -> (OwnedFile, OwnedFile) {
        var pair: (Int32, Int32) = (-1, -1)
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let failed = withUnsafeMutablePointer(to: &pair) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) { socketpair(AF_UNIX, type, 0, $0) }
        }
        guard failed == 0 else { throw .system("A pair of sockets cannot be made", errno) }
        return (OwnedFile(pair.0), OwnedFile(pair.1))
    }
}

extension HostError {
    /// Something that the system refused to the host itself.
    static func system(_ what: String, _ code: Int32) -> HostError {
        let reason = String(cString: strerror(code))
        return HostError("host.system_error", "\(what): \(reason).", details: ["reason": .string(reason)])
    }
}
