internal import CGio

/// A method call: whom, what, with which arguments, and for how long to wait.
public struct DBusCall: Sendable, Hashable {
    public var destination: String
    public var path: String
    public var interface: String
    public var method: String
    public var arguments: [DBusValue]
    /// How long the answer may take.
    public var timeout: Duration
    /// Whether the bus may start a service that does not run.
    public var startsService = true
    /// Whether the service may ask a person for authorization (polkit).
    public var allowsInteraction = false

    public init(
        _ destination: String, _ path: String, _ interface: String, _ method: String, _ arguments: [DBusValue] = [],
        timeout: Duration = .seconds(25)
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.method = method
        self.arguments = arguments
        self.timeout = timeout
    }

    /// Refuses what GDBus would only log about.
    func check() throws(DBusError) {
        guard g_dbus_is_name(destination) != 0 else { throw DBusError(.invalid, "“\(destination)” is no bus name.") }
        guard g_variant_is_object_path(path) != 0 else { throw DBusError(.invalid, "“\(path)” is no object path.") }
        guard g_dbus_is_interface_name(interface) != 0 else {
            throw DBusError(.invalid, "“\(interface)” is no interface name.")
        }
        guard g_dbus_is_member_name(method) != 0 else { throw DBusError(.invalid, "“\(method)” is no method name.") }
        try Encoding.check(arguments)
    }

    var flags: GDBusCallFlags {
        var flags = startsService ? G_DBUS_CALL_FLAGS_NONE.rawValue : G_DBUS_CALL_FLAGS_NO_AUTO_START.rawValue
        if allowsInteraction { flags |= G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION.rawValue }
        return GDBusCallFlags(flags)
    }
}

/// A call under way.
public final class DBusPendingCall: Sendable {
    let cancellable = Cancellable()
    let completion: @Sendable (Result<[DBusValue], DBusError>) -> Void

    init(_ completion: @escaping @Sendable (Result<[DBusValue], DBusError>) -> Void) { self.completion = completion }

    /// Stops waiting: the completion runs soon, with `cancelled` unless an answer was there first.
    public func cancel() { cancellable.cancel() }
}

/// The owner of a GCancellable.
///
/// `@unchecked Sendable`: g_cancellable_cancel takes any thread, and the pointer never changes.
final class Cancellable: @unchecked Sendable {
    let pointer = g_cancellable_new()

    func cancel() { g_cancellable_cancel(pointer) }
    deinit { g_object_unref(pointer) }
}
