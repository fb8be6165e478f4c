internal import Glibc
internal import Synchronization

/// A file descriptor that arrived in a message or goes out with one; closed with its last reference.
public final class DBusDescriptor: Sendable, Hashable {
    private let descriptor: Atomic<Int32>

    /// Takes over `descriptor`.
    public init(owning descriptor: Int32) { self.descriptor = Atomic(descriptor) }

    /// The descriptor, which stays owned by this object; -1 once it was taken.
    public var number: Int32 { descriptor.load(ordering: .acquiring) }

    /// Hands the descriptor over to the caller, who closes it; nil when that has happened before.
    public func take() -> Int32? {
        let taken = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        return taken >= 0 ? taken : nil
    }

    deinit {
        if let descriptor = take() { close(descriptor) }
    }

    public static func == (one: DBusDescriptor, other: DBusDescriptor) -> Bool { one === other }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
