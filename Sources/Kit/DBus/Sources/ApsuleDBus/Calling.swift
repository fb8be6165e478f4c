internal import ApsuleKit
internal import CGio

extension DBusConnection {
    /// Calls a method and waits for its answer.
    ///
    /// - Returns: the values of the answer.
    /// - Throws: `remote` with the error's D-Bus name, `timedOut`, `cancelled`, `closed`, `invalid`.
    public func call(
        _ destination: String, _ path: String, _ interface: String, _ method: String, _ arguments: DBusValue...,
        timeout: Duration = .seconds(25)
    ) async throws(DBusError) -> [DBusValue] {
        try await call(DBusCall(destination, path, interface, method, arguments, timeout: timeout))
    }

    public func call(_ call: DBusCall) async throws(DBusError) -> [DBusValue] {
        let answer = OneShot<[DBusValue]>()
        let pending = send(call) { result in answer.finish(result.mapError { $0 }) }
        do {
            return try await withTaskCancellationHandler {
                try await answer.value()
            } onCancel: {
                pending.cancel()
            }
        } catch let error as DBusError {
            throw error
        } catch {
            throw .cancelled
        }
    }

    /// Calls a method; `completion` runs once on the D-Bus thread, in order with the signals around the answer.
    @discardableResult
    public func send(
        _ call: DBusCall, _ completion: @escaping @Sendable (Result<[DBusValue], DBusError>) -> Void
    ) -> DBusPendingCall {
        let pending = DBusPendingCall(completion)
        EventLoop.shared.run { [handle] in
            do throws(DBusError) {
                try call.check()
                try start(call, pending, handle)
            } catch {
                completion(.failure(error))
            }
        }
        return pending
    }
}

/// Hands a checked call to GDBus, with +1 on `pending` until `answered`.
private func start(_ call: DBusCall, _ pending: DBusPendingCall, _ handle: DBusConnection.Handle) throws(DBusError) {
    var descriptors: [DBusDescriptor] = []
    let arguments = Encoding.tuple(call.arguments, descriptors: &descriptors)
    let list = try DescriptorList(descriptors, dropping: arguments)
    g_dbus_connection_call_with_unix_fd_list(
        handle.pointer, call.destination, call.path, call.interface, call.method, arguments, nil, call.flags,
        Int32(milliseconds(call.timeout)), list.pointer, pending.cancellable.pointer,
        { source, result, data in
            if let data { answered(source, result, Unmanaged<DBusPendingCall>.fromOpaque(data).takeRetainedValue()) }
        }, Unmanaged.passRetained(pending).toOpaque())
}

private func answered(
    _ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer?, _ pending: DBusPendingCall
) {
    var error: UnsafeMutablePointer<GError>?
    var list: UnsafeMutablePointer<GUnixFDList>?
    let connection = source.map { OpaquePointer($0) }
    guard let tuple = g_dbus_connection_call_with_unix_fd_list_finish(connection, &list, result, &error) else {
        return pending.completion(.failure(DBusError(consuming: error, otherwise: .invalid)))
    }
    defer {
        g_variant_unref(tuple)
        if let list { g_object_unref(list) }
    }
    pending.completion(
        Result { () throws(DBusError) in try Decoding.arguments(tuple, descriptors: list) })
}

/// The owner of a GUnixFDList with duplicates of what a message carries.
struct DescriptorList: ~Copyable {
    let pointer: UnsafeMutablePointer<GUnixFDList>?

    /// - Parameter body: the floating body of the message, freed when a descriptor cannot be duplicated.
    init(_ descriptors: [DBusDescriptor], dropping body: OpaquePointer?) throws(DBusError) {
        guard !descriptors.isEmpty else {
            pointer = nil
            return
        }
        let list = g_unix_fd_list_new()
        for descriptor in descriptors {
            var error: UnsafeMutablePointer<GError>?
            guard g_unix_fd_list_append(list, descriptor.number, &error) >= 0 else {
                g_variant_unref(g_variant_ref_sink(body))
                g_object_unref(list)
                throw DBusError(consuming: error, otherwise: .invalid)
            }
        }
        pointer = list
    }

    deinit { if let pointer { g_object_unref(pointer) } }
}
