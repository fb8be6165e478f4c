internal import ApsuleKit
internal import CGio
internal import Glibc
internal import Synchronization

/// A connection to a message bus, over GDBus on the thread `apsule.dbus`.
///
///     let bus = try await DBusConnection.open(.system)
///     let objects = try await bus.call("org.bluez", "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
///
/// Handlers run on that thread, one at a time and in the order of the wire, and must not block. The connection is
/// closed with its last reference.
///
/// Source: <https://docs.gtk.org/gio/class.DBusConnection.html>
public final class DBusConnection: Sendable {
    let handle: Handle
    private let closing: Mutex<Closing>

    private struct Closing {
        var isClosed = false
        var next = 0
        var handlers: [Int: @Sendable () -> Void] = [:]
    }

    /// The owner of a GDBusConnection.
    ///
    /// `@unchecked Sendable`: the pointer never changes, and GDBusConnection is documented as thread-safe.
    final class Handle: @unchecked Sendable {
        let pointer: OpaquePointer

        init(consuming pointer: OpaquePointer) { self.pointer = pointer }
        deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }
    }

    private init(consuming pointer: OpaquePointer) {
        handle = Handle(consuming: pointer)
        closing = Mutex(Closing())
        let observer = Unmanaged.passRetained(Observer(self)).toOpaque()
        let closed: @convention(c) (OpaquePointer?, gboolean, UnsafeMutablePointer<GError>?, gpointer?) -> Void = {
            _, _, _, data in
            if let data { Unmanaged<Observer>.fromOpaque(data).takeUnretainedValue().connection?.didClose() }
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(pointer), "closed", unsafeBitCast(closed, to: GCallback.self), observer,
            { data, _ in if let data { Unmanaged<Observer>.fromOpaque(data).release() } }, GConnectFlags(0))
        if g_dbus_connection_is_closed(pointer) != 0 { didClose() }
    }

    deinit { close() }

    /// What the "closed" signal knows of its connection, whose end it must not delay.
    private final class Observer: Sendable {
        private let reference: Mutex<WeakConnection>
        var connection: DBusConnection? { reference.withLock { $0.connection } }
        init(_ connection: DBusConnection) { reference = Mutex(WeakConnection(connection: connection)) }
    }

    private struct WeakConnection { weak var connection: DBusConnection? }

    // MARK: - Opening

    private static let shared = Mutex<[String: WeakConnection]>([:])

    /// Opens a connection of its own: what a service ties to its client (a discovery session, an agent) ends with it.
    ///
    /// - Throws: `unreachable`, `timedOut`, `cancelled`.
    public static func open(_ bus: DBusBus, timeout: Duration = .seconds(10)) async throws(DBusError) -> DBusConnection
    {
        try await open(address: try bus.address(), timeout: timeout)
    }

    /// The connection that this process shares for a bus; a new one once the last was closed.
    public static func shared(_ bus: DBusBus, timeout: Duration = .seconds(10)) async throws(DBusError)
        -> DBusConnection
    {
        let address = try bus.address()
        if let connection = shared.withLock({ $0[address]?.connection }), !connection.isClosed { return connection }
        let opened = try await open(address: address, timeout: timeout)
        return shared.withLock { shared in
            if let connection = shared[address]?.connection, !connection.isClosed { return connection }
            shared[address] = WeakConnection(connection: opened)
            return opened
        }
    }

    private static func open(address: String, timeout: Duration) async throws(DBusError) -> DBusConnection {
        let answer = OneShot<DBusConnection>()
        let cancellable = Cancellable()
        let flags =
            G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
            | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue
        EventLoop.shared.run {
            g_dbus_connection_new_for_address(
                address, GDBusConnectionFlags(flags), nil, cancellable.pointer,
                { _, result, data in
                    guard let data else { return }
                    let answer = OneShot<DBusConnection>.take(data)
                    var error: UnsafeMutablePointer<GError>?
                    if let pointer = g_dbus_connection_new_for_address_finish(result, &error) {
                        answer.finish(.success(DBusConnection(consuming: pointer)))
                    } else {
                        answer.finish(.failure(DBusError(consuming: error, otherwise: .unreachable)))
                    }
                }, answer.retained())
        }
        let timer = EventLoop.shared.after(timeout) {
            answer.finish(.failure(DBusError(.timedOut, "\(address) did not answer in time.")))
        }
        defer {
            timer.cancel()
            cancellable.cancel()
        }
        do {
            return try await answer.value()
        } catch let error as DBusError {
            throw error.kind == .closed ? DBusError(.unreachable, error.message) : error
        } catch {
            throw .cancelled
        }
    }

    // MARK: - Closing

    public var isClosed: Bool { g_dbus_connection_is_closed(handle.pointer) != 0 }

    /// This connection's unique name on the bus, as in `:1.42`.
    public var uniqueName: String {
        g_dbus_connection_get_unique_name(handle.pointer).map { String(cString: $0) } ?? ""
    }

    /// Sends what is queued, then closes; calls under way fail with `closed`.
    public func close() {
        EventLoop.shared.run { [handle] in
            g_dbus_connection_flush(
                handle.pointer, nil,
                { source, _, _ in g_dbus_connection_close(source.map { OpaquePointer($0) }, nil, nil, nil) }, nil)
        }
    }

    /// Waits, blocking, until everything that was sent is written to the bus; not on the D-Bus thread.
    public func flush() { g_dbus_connection_flush_sync(handle.pointer, nil, nil) }

    /// Runs `handler` once the connection is closed by either side, at once if it already is.
    public func onClosed(_ handler: @escaping @Sendable () -> Void) -> Subscription {
        let key: Int? = closing.withLock { closing in
            if closing.isClosed { return nil }
            closing.next += 1
            closing.handlers[closing.next] = handler
            return closing.next
        }
        if key == nil { EventLoop.shared.run(handler) }
        return Subscription { [weak self] in
            if let self, let key { self.closing.withLock { _ = $0.handlers.removeValue(forKey: key) } }
        }
    }

    private func didClose() {
        let handlers = closing.withLock { closing in
            closing.isClosed = true
            defer { closing.handlers = [:] }
            return closing.handlers.values
        }
        for handler in handlers { handler() }
    }
}

/// Which bus.
public enum DBusBus: Sendable, Hashable {
    case system
    case session
    /// An address as in <https://dbus.freedesktop.org/doc/dbus-specification.html#addresses>.
    case address(String)

    /// - Throws: `unreachable` where the environment names no session bus; none is started.
    func address() throws(DBusError) -> String {
        switch self {
        case .system: return variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/run/dbus/system_bus_socket"
        case .address(let address): return address
        case .session:
            if let address = variable("DBUS_SESSION_BUS_ADDRESS") { return address }
            if let folder = variable("XDG_RUNTIME_DIR") { return "unix:path=\(folder)/bus" }
            throw DBusError(.unreachable, "This session has no message bus: DBUS_SESSION_BUS_ADDRESS is not set.")
        }
    }

    private func variable(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
        return value
    }
}
