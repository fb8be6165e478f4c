internal import Synchronization

/// Something that lasts until it is cancelled: a signal subscription, a watched name, an exported object.
///
/// It also ends with its last reference. After `cancel` no new call of its handler begins; one that runs goes on.
public final class Subscription: Sendable {
    private let onCancel: Mutex<(@Sendable () -> Void)?>

    /// - Parameter onCancel: runs once, on the thread that cancels.
    public init(_ onCancel: @escaping @Sendable () -> Void) { self.onCancel = Mutex(onCancel) }

    /// Ends it, from any thread and any number of times.
    public func cancel() {
        let action = onCancel.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }

    public var isCancelled: Bool { onCancel.withLock { $0 == nil } }

    deinit { cancel() }
}
