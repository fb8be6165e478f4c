internal import CGio
internal import Glibc

/// The thread `apsule.dbus`: every GDBus callback of this process's ApsuleDBus runs on it, one after the other.
///
/// `@unchecked Sendable`: the context pointer never changes, and GMainContext functions used here take any thread.
final class EventLoop: @unchecked Sendable {
    static let shared = EventLoop()

    private let context: OpaquePointer

    private init() {
        guard let context = g_main_context_new() else { fatalError("g_main_context_new aborts before it gives NULL") }
        self.context = context
        let thread = g_thread_new("apsule.dbus", { serve(context: $0) }, UnsafeMutableRawPointer(context))
        g_thread_unref(thread)
    }

    /// Runs `body` on the thread: at once when called there, else after what was enqueued before.
    func run(_ body: @escaping @Sendable () -> Void) {
        g_main_context_invoke_full(
            context, G_PRIORITY_DEFAULT,
            { data in
                Box.borrow(data)?.body()
                return G_SOURCE_REMOVE
            }, Box(body).retained(), { Box.release($0) })
    }

    /// Runs `body` on the thread after a time, unless the subscription is cancelled before.
    func after(_ duration: Duration, _ body: @escaping @Sendable () -> Void) -> Subscription {
        let source = Source(g_timeout_source_new(milliseconds(duration)))
        g_source_set_callback(
            source.pointer,
            { data in
                Box.borrow(data)?.body()
                return G_SOURCE_REMOVE
            }, Box(body).retained(), { Box.release($0) })
        g_source_attach(source.pointer, context)
        return Subscription { source.destroy() }
    }
}

/// A duration for GLib: at least one millisecond, at most what its 32 bits hold.
func milliseconds(_ duration: Duration) -> UInt32 {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0 else { return 1 }
    guard seconds < 2_147_483 else { return 2_147_483_000 }
    return max(1, UInt32(seconds) * 1000 + UInt32(attoseconds / 1_000_000_000_000_000))
}

/// The thread's life: it serves its context until the process ends, and leaves signals to other threads.
private func serve(context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let context = context.map { OpaquePointer($0) }
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    g_main_context_push_thread_default(context)
    g_main_loop_run(g_main_loop_new(context, 0))
    return nil
}

/// A closure as the user data of a C callback: +1 while C holds it.
private final class Box: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func retained() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    static func borrow(_ data: UnsafeMutableRawPointer?) -> Box? {
        data.map { Unmanaged<Box>.fromOpaque($0).takeUnretainedValue() }
    }

    static func release(_ data: UnsafeMutableRawPointer?) {
        if let data { Unmanaged<Box>.fromOpaque(data).release() }
    }
}

/// The owner of a GSource.
///
/// `@unchecked Sendable`: g_source_destroy and g_source_unref take any thread.
private final class Source: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<GSource>?

    init(_ pointer: UnsafeMutablePointer<GSource>?) { self.pointer = pointer }
    func destroy() { g_source_destroy(pointer) }
    deinit { g_source_unref(pointer) }
}
