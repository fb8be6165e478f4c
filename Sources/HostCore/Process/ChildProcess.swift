public import ApsuleKit
internal import CProcess
internal import Glibc
internal import Synchronization

/// How a process ended.
public enum ProcessEnd: Sendable, Hashable, CustomStringConvertible {
    case exited(Int32)
    case signalled(Int32)

    public var description: String {
        switch self {
        case .exited(let code): "exit status \(code)"
        case .signalled(let signal): "signal \(signal) (\(String(cString: strsignal(signal))))"
        }
    }
}

/// A running child.
///
/// Its end is noticed whether or not anybody waits, and its number is never taken for that of another process.
public final class ChildProcess: Sendable {
    public let pid: Int32
    let pidfd: OwnedFile
    private let state = Mutex(State())

    private struct State {
        var status: ProcessEnd?
        var handlers: [@Sendable (ProcessEnd) -> Void] = []
    }

    init(pid: Int32) throws(HostError) {
        self.pid = pid
        let descriptor = process_open(pid)
        guard descriptor >= 0 else { throw .system("Process \(pid) cannot be watched", -descriptor) }
        pidfd = OwnedFile(descriptor)
    }

    /// Starts a program from the permanent thread.
    ///
    /// - Throws: `host.system_error`.
    public static func start(_ command: ChildCommand) throws(HostError) -> ChildProcess {
        try ChildKeeper.shared.start(command)
    }

    /// Calls `handler` once, at the end of the process or now if it has ended.
    ///
    /// Handlers run one after another on a thread of their own and must not block.
    public func onExit(_ handler: @escaping @Sendable (ProcessEnd) -> Void) {
        let ended: ProcessEnd? = state.withLock { state in
            if state.status == nil { state.handlers.append(handler) }
            return state.status
        }
        if let ended { handler(ended) }
    }

    /// How it ended, once it has.
    public var status: ProcessEnd? { state.withLock { $0.status } }

    public func exit() async -> ProcessEnd {
        await withCheckedContinuation { continuation in onExit { continuation.resume(returning: $0) } }
    }

    /// Waits on this thread; nil where it still runs after `milliseconds`.
    public func wait(milliseconds: Int) -> ProcessEnd? {
        let ended = Signal()
        onExit { _ in ended.post() }
        _ = ended.wait(milliseconds: milliseconds)
        return status
    }

    /// Whether the process was there to take the signal.
    @discardableResult
    public func signal(_ number: Int32) -> Bool { process_signal(pidfd.raw, number) == 0 }

    public func kill() { signal(SIGKILL) }

    /// Asks the kernel whether it has ended; whoever the keeper is calls this.
    func reap() -> Bool {
        var code: Int32 = 0
        guard process_reap(pidfd.raw, &code) != 0 else { return false }
        let status: ProcessEnd = code < 0 ? .signalled(-code) : .exited(code)
        let handlers = state.withLock { state in
            defer { state.handlers = [] }
            state.status = status
            return state.handlers
        }
        for handler in handlers { ChildKeeper.shared.notify { handler(status) } }
        return true
    }
}
