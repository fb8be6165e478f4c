public import ApsuleKit

/// Who serves a family: a host family, a plugin in this process, a plugin-host child, a recording.
public protocol Provider: AnyObject, Sendable {
    /// The operations it serves, without the family; `invoke` takes an index into them.
    var operations: [String] { get }

    /// Whether an inline operation is answered before `invoke` returns: not where another process serves it.
    var answersInline: Bool { get }

    /// Runs an operation; its terminal goes to `sink`, perhaps before this returns.
    func invoke(_ operation: Int, call: UInt64, arguments: Payload, sink: any CallSink)

    /// Nobody waits for this call any more. Comes again while `invoke` runs, and once it has returned.
    func cancel(_ call: UInt64)

    /// A stream that was told to hold may send again.
    func resume(_ call: UInt64)

    /// A cancelled call still owes its terminal, long after it was due.
    func overdue(_ call: UInt64)

    /// Ends the provider; no call is running and none will start.
    func close()
}

extension Provider {
    public var answersInline: Bool { true }

    public func overdue(_ call: UInt64) {}
}

/// The host's side of one call, as a provider sees it.
///
/// Any thread.
public protocol CallSink: AnyObject, Sendable {
    /// Whether the operation is a stream, whose reply does not end the call.
    var isStream: Bool { get }
    func reply(_ result: Payload?)
    func fail(_ error: HostError)
    /// Delivers one event of a stream.
    func event(_ name: String, _ payload: Payload?) -> Flow
    func end(_ final: Payload?)
    /// A descriptor that the receiver closes, or -errno.
    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32
    func allows(_ scope: String, _ value: String) -> Bool
}

/// What an event is answered with: `apsule_flow`.
public enum Flow: Int32, Sendable {
    case proceed = 0
    case hold = 1
    case stop = 2
}

/// What a provider gets from the host besides its calls.
///
/// Any thread.
public protocol ProviderHost: AnyObject, Sendable {
    func log(_ level: LogLevel, family: String, _ message: String)
    /// The family's private folder for the project: a descriptor that the host owns, or -errno.
    func dataDirectory(family: String) -> Int32
}
