internal import CGio
internal import Synchronization

/// What GDBus calls back until it is unregistered: the handler, and whether it may still be called.
///
/// GDBus holds +1 from the registration until it runs the free function, which may come after the cancel.
final class Registered<Handler: AnyObject & Sendable>: Sendable {
    private let handler: Handler
    private let isLive = Atomic(true)
    /// GDBus's number for it, 0 until it is registered; used on the D-Bus thread only.
    let number = Atomic<UInt32>(0)

    init(_ handler: Handler) { self.handler = handler }

    func end() { isLive.store(false, ordering: .releasing) }

    /// The handler behind a callback's user data, unless it was cancelled.
    static func live(_ data: UnsafeMutableRawPointer?) -> Handler? {
        guard let data else { return nil }
        let registered = Unmanaged<Registered>.fromOpaque(data).takeUnretainedValue()
        return registered.isLive.load(ordering: .acquiring) ? registered.handler : nil
    }

    static func release(_ data: UnsafeMutableRawPointer?) {
        if let data { Unmanaged<Registered>.fromOpaque(data).release() }
    }
}

extension DBusConnection {
    /// Registers on the D-Bus thread, whose context GDBus then uses, and unregisters there, after that.
    func registration<Handler: AnyObject & Sendable>(
        _ handler: Handler, start: @escaping @Sendable (Handle, UnsafeMutableRawPointer) -> UInt32,
        end: @escaping @Sendable (Handle, UInt32) -> Void
    ) -> Subscription {
        let registered = Registered(handler)
        EventLoop.shared.run { [handle] in
            let number = start(handle, Unmanaged.passRetained(registered).toOpaque())
            registered.number.store(number, ordering: .relaxed)
        }
        return Subscription { [handle] in
            registered.end()
            EventLoop.shared.run {
                let number = registered.number.load(ordering: .relaxed)
                if number != 0 { end(handle, number) }
            }
        }
    }
}
