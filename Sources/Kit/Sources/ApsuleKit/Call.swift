internal import CApsule
internal import Synchronization

/// One running call: its arguments, and what the host offers while it runs.
///
///     func get(_ call: Call) throws -> JSON {
///         let key: String = try call["key"]
public final class Call: Sendable {
    public let arguments: Arguments
    /// The operation, without the family.
    public let operation: String
    /// The family, which the codes of its errors begin with.
    public var family: String { link.family }
    let id: apsule_call
    let link: HostLink
    private let cancellation = Mutex(Cancellation())

    private struct Cancellation {
        var isCancelled = false
        var handlers: [@Sendable () -> Void] = []
    }

    init(id: apsule_call, operation: String, arguments: Arguments, link: HostLink) {
        self.id = id
        self.operation = operation
        self.arguments = arguments
        self.link = link
    }

    /// The named argument.
    ///
    /// Throws `host.invalid_argument` where it is missing or of another type.
    public subscript<T: ArgumentValue>(name: String) -> T {
        get throws(HostError) { try arguments[name] }
    }

    /// The named argument, or nil where it is absent or null.
    public subscript<T: ArgumentValue>(name: String) -> T? {
        get throws(HostError) { try arguments[name] }
    }

    /// Whether nobody waits for the answer any more.
    public var isCancelled: Bool { cancellation.withLock { $0.isCancelled } }

    /// Runs `handler` once when the call is cancelled, at once if it already was; it must not block.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let now = cancellation.withLock { state in
            if !state.isCancelled { state.handlers.append(handler) }
            return state.isCancelled
        }
        if now { handler() }
    }

    /// Opens a path beneath the project's files.
    ///
    /// - Parameters:
    ///   - flags: those of `open(2)`; they must be covered by the operation's permission.
    ///   - mode: for a file that is created.
    /// - Returns: a descriptor that the caller closes.
    /// - Throws: `<family>.<reason>` from the errno: `outside_sandbox`, `not_found`, `not_permitted`, `file_error`.
    /// - Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
    public func open(_ path: String, flags: Int32, mode: UInt32 = 0o600) throws(HostError) -> Int32 {
        let result = link.openPath(id, path, flags, mode)
        guard result < 0 else { return result }
        throw FileErrors.error(family: link.family, path: path, errno: -result)
    }

    /// May this call touch `value` under a scope that its descriptor declares? Never prompts; may take a moment.
    public func allows(_ scope: String, _ value: String) -> Bool { link.allows(id, scope, value) }

    /// Whether this call may reach a place of the network: the next hop of a redirect, an address of a name.
    ///
    /// To be asked before each connection, with the address; so that no name leads where its address would not be allowed.
    ///
    /// - Parameters:
    ///   - place: a URL, or a host with or without a port.
    ///   - address: IPv4 or IPv6, without brackets; nil before it is known.
    public func allows(place: String, at address: String? = nil) -> Bool {
        // A space would make two values of one, of which the first alone is a place.
        guard !place.utf8.contains(0x20) else { return false }
        return allows("hosts", address.map { "\(place) \($0)" } ?? place)
    }

    func cancel() {
        let handlers = cancellation.withLock { state in
            state.isCancelled = true
            defer { state.handlers = [] }
            return state.handlers
        }
        for handler in handlers { handler() }
    }
}
