public import ApsuleKit
public import ScriptText

/// What a project's script may use.
public struct ScriptLimits: Sendable {
    /// Milliseconds that one turn of the event loop may take.
    public var turnMs: Int
    /// Megabytes of private memory that the process may have.
    public var memoryMB: Int
    /// Whether `eval` and `new Function` work.
    ///
    /// Off: they throw an EvalError.
    public var allowsEval: Bool

    public init(turnMs: Int = 5_000, memoryMB: Int = 512, allowsEval: Bool = false) {
        (self.turnMs, self.memoryMB, self.allowsEval) = (turnMs, memoryMB, allowsEval)
    }
}

/// What a runtime tells its owner.
///
/// The closures are called on the runtime's own threads and, but for `console`, must not block.
public struct ScriptHooks: Sendable {
    /// A line of the script's console; it may block, and then the script waits.
    public var console: @Sendable (LogLevel, String) -> Void
    /// Reads a file of the project by its path relative to the project's folder; nil where there is none.
    public var readFile: @Sendable (String) throws(HostError) -> [UInt8]?
    /// The script has finished and no call, stream or timer is alive.
    ///
    /// Again after each action that was invoked.
    public var settled: @Sendable () -> Void
    /// The script failed, once; the runtime then stops by itself, unless `ScriptError.isStuck`.
    public var failed: @Sendable (ScriptError) -> Void
    /// About twice a second while the event loop makes its turns in time.
    public var heartbeat: @Sendable () -> Void
    /// The runtime has ended and holds nothing any more.
    public var stopped: @Sendable () -> Void

    public init(
        console: @escaping @Sendable (LogLevel, String) -> Void,
        readFile: @escaping @Sendable (String) throws(HostError) -> [UInt8]? = { _ in nil },
        settled: @escaping @Sendable () -> Void = {},
        failed: @escaping @Sendable (ScriptError) -> Void,
        heartbeat: @escaping @Sendable () -> Void = {},
        stopped: @escaping @Sendable () -> Void = {}
    ) {
        (self.console, self.readFile, self.settled) = (console, readFile, settled)
        (self.failed, self.heartbeat, self.stopped) = (failed, heartbeat, stopped)
    }
}

/// What a runtime keeps, to see that nothing leaks.
public struct ScriptCounters: Sendable, Hashable {
    /// Calls and streams that have not ended.
    public var calls = 0
    /// Calls, streams, timers and actions that keep the project alive.
    public var alive = 0
    /// How many calls and streams there were at once, at most.
    public var places = 0

    public init() {}
}
