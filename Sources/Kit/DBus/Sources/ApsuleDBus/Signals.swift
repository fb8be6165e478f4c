internal import CGio

/// A signal that arrived.
public struct DBusSignal: Sendable {
    /// The unique name of who sent it.
    public let sender: String
    public let path: String
    public let interface: String
    public let member: String
    public let arguments: [DBusValue]

    public init(sender: String, path: String, interface: String, member: String, arguments: [DBusValue]) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}

/// Which signals a subscription gets; what is nil matches all.
public struct DBusSignalFilter: Sendable, Hashable {
    public var sender: String?
    public var interface: String?
    public var member: String?
    public var path: String?
    /// The first argument, where it is text.
    public var argument0: String?

    public init(
        sender: String? = nil, interface: String? = nil, member: String? = nil, path: String? = nil,
        argument0: String? = nil
    ) {
        self.sender = sender
        self.interface = interface
        self.member = member
        self.path = path
        self.argument0 = argument0
    }
}

extension DBusConnection {
    /// Subscribes to signals.
    ///
    /// A call that is sent afterwards is answered after the subscription is in place. A signal whose body is not within the limits of `DBusValue` is dropped; descriptors do not arrive in signals.
    public func subscribe(
        _ filter: DBusSignalFilter, _ handler: @escaping @Sendable (DBusSignal) -> Void
    ) -> Subscription {
        registration(Handler(handler)) { handle, registered in
            g_dbus_connection_signal_subscribe(
                handle.pointer, filter.sender, filter.interface, filter.member, filter.path, filter.argument0,
                G_DBUS_SIGNAL_FLAGS_NONE,
                { _, sender, path, interface, member, body, data in
                    guard let handler = Registered<Handler<DBusSignal>>.live(data) else { return }
                    guard let arguments = try? Decoding.arguments(body) else { return }
                    handler.handle(
                        DBusSignal(
                            sender: text(sender), path: text(path), interface: text(interface), member: text(member),
                            arguments: arguments))
                }, registered, { Registered<Handler<DBusSignal>>.release($0) })
        } end: {
            g_dbus_connection_signal_unsubscribe($0.pointer, $1)
        }
    }

    /// Tells who owns a name: at once, and whenever it changes; nil for nobody, also when the connection is closed.
    public func watchName(_ name: String, _ handler: @escaping @Sendable (String?) -> Void) -> Subscription {
        registration(Handler(handler)) { handle, registered in
            g_bus_watch_name_on_connection(
                handle.pointer, name, G_BUS_NAME_WATCHER_FLAGS_NONE,
                { _, _, owner, data in Registered<Handler<String?>>.live(data)?.handle(text(owner)) },
                { _, _, data in Registered<Handler<String?>>.live(data)?.handle(nil) },
                registered, { Registered<Handler<String?>>.release($0) })
        } end: {
            g_bus_unwatch_name($1)
        }
    }

    /// Sends a signal.
    ///
    /// - Parameter destination: the one who gets it; nil for all.
    public func emit(
        _ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue] = [],
        to destination: String? = nil
    ) throws(DBusError) {
        try DBusCall(destination ?? "org.freedesktop.DBus", path, interface, member, arguments).check()
        var descriptors: [DBusDescriptor] = []
        let body = Encoding.tuple(arguments, descriptors: &descriptors)
        guard descriptors.isEmpty else {
            g_variant_unref(g_variant_ref_sink(body))
            throw DBusError(.invalid, "A signal carries no file descriptors.")
        }
        var error: UnsafeMutablePointer<GError>?
        let sent = g_dbus_connection_emit_signal(handle.pointer, destination, path, interface, member, body, &error)
        guard sent != 0 else { throw DBusError(consuming: error, otherwise: .invalid) }
    }
}

/// A handler of one kind of argument, as an object that a registration can own.
final class Handler<Argument>: Sendable {
    let handle: @Sendable (Argument) -> Void
    init(_ handle: @escaping @Sendable (Argument) -> Void) { self.handle = handle }
}

/// A C string that GDBus lends.
func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }
