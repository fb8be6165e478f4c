internal import ApsuleKit
internal import CGio
internal import Synchronization

/// An interface as introspection data describes it.
///
/// `@unchecked Sendable`: immutable once read; GDBusNodeInfo's reference count is atomic.
///
/// Source: <https://dbus.freedesktop.org/doc/dbus-specification.html#introspection-format>
public final class DBusInterface: @unchecked Sendable {
    private let node: UnsafeMutablePointer<GDBusNodeInfo>
    let info: UnsafeMutablePointer<GDBusInterfaceInfo>

    /// - Parameter xml: a `<node>` with one `<interface>`.
    /// - Throws: `invalid`.
    public init(xml: String) throws(DBusError) {
        var error: UnsafeMutablePointer<GError>?
        guard let node = g_dbus_node_info_new_for_xml(xml, &error) else {
            throw DBusError(consuming: error, otherwise: .invalid)
        }
        guard let info = node.pointee.interfaces?.pointee else {
            g_dbus_node_info_unref(node)
            throw DBusError(.invalid, "The introspection data has no interface.")
        }
        self.node = node
        self.info = info
    }

    deinit { g_dbus_node_info_unref(node) }
}

/// A method call that arrived, to be answered once, on any thread; without an answer it fails with its last reference.
///
/// Calls of `org.freedesktop.DBus.Properties` for the exported interface arrive as calls of that interface.
public final class DBusInvocation: Sendable {
    /// The unique name of who calls.
    public let sender: String
    public let path: String
    public let interface: String
    public let method: String
    public let arguments: [DBusValue]
    private let invocation: Mutex<Invocation?>

    /// `@unchecked Sendable`: taken out of the Mutex once, and GDBusMethodInvocation answers from any thread.
    struct Invocation: @unchecked Sendable { let pointer: OpaquePointer }

    init(
        _ invocation: Invocation, sender: String, path: String, interface: String, method: String,
        arguments: [DBusValue]
    ) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.method = method
        self.arguments = arguments
        self.invocation = Mutex(invocation)
    }

    /// Answers with values; a later answer is dropped.
    public func reply(_ values: DBusValue...) {
        do throws(DBusError) { try Encoding.check(values) } catch {
            return fail("org.freedesktop.DBus.Error.Failed", error.message)
        }
        guard let invocation = take() else { return }
        var descriptors: [DBusDescriptor] = []
        let body = Encoding.tuple(values, descriptors: &descriptors)
        do throws(DBusError) {
            let list = try DescriptorList(descriptors, dropping: body)
            g_dbus_method_invocation_return_value_with_unix_fd_list(invocation.pointer, body, list.pointer)
        } catch {
            g_dbus_method_invocation_return_dbus_error(
                invocation.pointer, "org.freedesktop.DBus.Error.Failed", error.message)
        }
    }

    /// Answers with an error by its D-Bus name.
    public func fail(_ name: String, _ message: String) {
        guard let invocation = take() else { return }
        let name = g_dbus_is_interface_name(name) != 0 ? name : "org.freedesktop.DBus.Error.Failed"
        g_dbus_method_invocation_return_dbus_error(invocation.pointer, name, message)
    }

    private func take() -> Invocation? {
        invocation.withLock { invocation in
            defer { invocation = nil }
            return invocation
        }
    }

    deinit { fail("org.freedesktop.DBus.Error.Failed", "The method gave no answer.") }
}

extension DBusConnection {
    /// Serves an interface at a path until the subscription ends; `handler` runs on the D-Bus thread.
    ///
    /// - Throws: `invalid` where the path serves that interface already.
    public func export(
        _ path: String, _ interface: DBusInterface, _ handler: @escaping @Sendable (DBusInvocation) -> Void
    ) async throws(DBusError) -> Subscription {
        guard g_variant_is_object_path(path) != 0 else { throw DBusError(.invalid, "“\(path)” is no object path.") }
        let outcome = OneShot<Void>()
        let subscription = registration(Handler(handler)) { handle, registered in
            var error: UnsafeMutablePointer<GError>?
            var functions = GDBusInterfaceVTable()
            functions.method_call = { _, sender, path, interface, method, body, invocation, data in
                received(sender, path, interface, method, body, invocation, data)
            }
            let number = g_dbus_connection_register_object(
                handle.pointer, path, interface.info, &functions, registered,
                { Registered<Handler<DBusInvocation>>.release($0) }, &error)
            if number == 0 {
                // A refused registration does not run the free function.
                Registered<Handler<DBusInvocation>>.release(registered)
                outcome.finish(.failure(DBusError(consuming: error, otherwise: .invalid)))
            } else {
                outcome.finish(.success(()))
            }
            return number
        } end: {
            g_dbus_connection_unregister_object($0.pointer, $1)
        }
        do {
            try await outcome.value()
            return subscription
        } catch {
            throw error as? DBusError ?? .cancelled
        }
    }
}

/// A call for an exported interface, with +1 on `invocation`.
private func received(
    _ sender: UnsafePointer<CChar>?, _ path: UnsafePointer<CChar>?, _ interface: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ body: OpaquePointer?, _ invocation: OpaquePointer?,
    _ data: UnsafeMutableRawPointer?
) {
    guard let invocation else { return }
    let message = g_dbus_method_invocation_get_message(invocation)
    let descriptors = message.flatMap { g_dbus_message_get_unix_fd_list($0) }
    let arguments = Result { () throws(DBusError) in try Decoding.arguments(body, descriptors: descriptors) }
    let call = DBusInvocation(
        .init(pointer: invocation), sender: text(sender), path: text(path), interface: text(interface),
        method: text(method), arguments: (try? arguments.get()) ?? [])
    switch (Registered<Handler<DBusInvocation>>.live(data), arguments) {
    case (let handler?, .success): handler.handle(call)
    case (nil, _): call.fail("org.freedesktop.DBus.Error.UnknownObject", "The object is gone.")
    case (_, .failure(let error)): call.fail("org.freedesktop.DBus.Error.InvalidArgs", error.message)
    }
}
