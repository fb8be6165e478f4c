import ApsuleDBus
import Foundation
import Synchronization

/// An object with a method for each thing a test asks of a peer.
final class Echo: Sendable {
    static let name = "org.apsule.Echo"
    static let path = "/org/apsule/Echo"
    let connection: DBusConnection
    private let exported = Mutex<Subscription?>(nil)
    private let unanswered = Mutex<[DBusInvocation]>([])

    private static let xml = """
        <node><interface name="org.apsule.Echo">
          <method name="Echo"><arg type="v" direction="in"/><arg type="v" direction="out"/></method>
          <method name="Refuse"/>
          <method name="Hang"/>
          <method name="Forget"/>
          <method name="Read"><arg type="h" direction="in"/><arg type="s" direction="out"/></method>
          <method name="Open"><arg type="h" direction="out"/></method>
          <property name="Level" type="i" access="readwrite"/>
        </interface></node>
        """

    init(_ address: String, name: String? = Echo.name) async throws {
        connection = try await DBusConnection.open(.address(address))
        let subscription = try await connection.export(Self.path, DBusInterface(xml: Self.xml)) { [weak self] call in
            self?.serve(call)
        }
        exported.withLock { $0 = subscription }
        if let name {
            _ = try await connection.call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName", .string(name),
                .uint32(4))
        }
    }

    func unexport() { exported.withLock { $0 }?.cancel() }

    private func serve(_ call: DBusInvocation) {
        switch call.method {
        case "Echo": call.reply(call.arguments[0])
        case "Refuse": call.fail("org.apsule.Error.Refused", "Not today.")
        case "Hang": unanswered.withLock { $0.append(call) }
        case "Read":
            let number = call.arguments[0].descriptorValue?.number ?? -1
            let data = FileHandle(fileDescriptor: number, closeOnDealloc: false).readDataToEndOfFile()
            call.reply(.string(String(decoding: data, as: UTF8.self)))
        case "Open":
            let pipe = Pipe()
            pipe.fileHandleForWriting.write(Data("from the peer".utf8))
            try? pipe.fileHandleForWriting.close()
            call.reply(.descriptor(DBusDescriptor(owning: dup(pipe.fileHandleForReading.fileDescriptor))))
        case "Get": call.reply(.variant(.int32(7)))
        default: break
        }
    }
}

extension DBusConnection {
    func echo(_ method: String, _ arguments: DBusValue..., timeout: Duration = .seconds(10)) async throws -> [DBusValue]
    {
        try await call(DBusCall(Echo.name, Echo.path, "org.apsule.Echo", method, arguments, timeout: timeout))
    }
}

/// The error of what must fail.
func failure(_ body: () async throws -> Void) async -> DBusError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? DBusError
    }
}
