internal import CGio

/// Why a D-Bus call failed.
public struct DBusError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// The other side, or the bus itself, answered with an error.
        case remote
        /// No answer within the call's timeout.
        case timedOut
        /// The caller was cancelled.
        case cancelled
        /// The connection is closed: the bus went away, or this side closed it.
        case closed
        /// The bus cannot be reached.
        case unreachable
        /// What was to be sent, or what arrived, is not valid D-Bus.
        case invalid
    }

    public let kind: Kind
    /// The D-Bus name of a remote error, as in `org.bluez.Error.NotReady`; empty for others.
    public let name: String
    public let message: String

    public init(_ kind: Kind, name: String = "", _ message: String) {
        self.kind = kind
        self.name = name
        self.message = message
    }

    /// An error as a peer sends it.
    public static func remote(_ name: String, _ message: String) -> DBusError {
        DBusError(.remote, name: name, message)
    }

    public static let cancelled = DBusError(.cancelled, "The call was cancelled.")

    public var description: String { name.isEmpty ? message : "\(name): \(message)" }
}

extension DBusError {
    /// Reads and frees a GError; what is no remote error and of no special kind becomes `otherwise`.
    init(consuming error: UnsafeMutablePointer<GError>?, otherwise: Kind) {
        guard let error else {
            self.init(otherwise, "GIO gave no reason.")
            return
        }
        defer { g_error_free(error) }
        if g_dbus_error_is_remote_error(error) != 0, let name = g_dbus_error_get_remote_error(error) {
            g_dbus_error_strip_remote_error(error)
            self.init(.remote, name: String(cString: name), String(cString: error.pointee.message))
            g_free(name)
            return
        }
        var kind = otherwise
        if error.pointee.domain == g_io_error_quark() {
            switch UInt32(bitPattern: error.pointee.code) {
            case G_IO_ERROR_TIMED_OUT.rawValue: kind = .timedOut
            case G_IO_ERROR_CANCELLED.rawValue: kind = .cancelled
            case G_IO_ERROR_CLOSED.rawValue, G_IO_ERROR_BROKEN_PIPE.rawValue, G_IO_ERROR_CONNECTION_CLOSED.rawValue:
                kind = .closed
            default: break
            }
        }
        self.init(kind, String(cString: error.pointee.message))
    }
}
