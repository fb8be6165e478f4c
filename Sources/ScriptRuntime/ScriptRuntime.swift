public import ApsuleKit
public import HostCore
public import ScriptText

/// Runs the JavaScript of one project on a thread of its own.
///
/// Every method may be called from any thread and returns at once; what happens is told through `ScriptHooks`.
/// The thread that makes the first runtime of a process must live as long as the process.
///
/// Source: <https://developer.apple.com/documentation/javascriptcore/javascriptcore-c-api>
public final class ScriptRuntime: Sendable {
    private let inbox = Inbox()
    private let pulse = Pulse()

    public convenience init(port: any CallPort, limits: ScriptLimits = ScriptLimits(), hooks: ScriptHooks) {
        self.init(limits: limits, hooks: hooks) { port }
    }

    /// Starts the engine while what it calls is still being made.
    ///
    /// - Parameters:
    ///   - isLast: the process ends with this runtime, and gives the engine's memory back faster than the engine does.
    ///   - port: waited for on the engine's thread, once the engine is there; nil ends the runtime.
    public init(
        limits: ScriptLimits, hooks: ScriptHooks, isLast: Bool = false,
        port: @escaping @Sendable () -> (any CallPort)?
    ) {
        Self.prepareProcess()
        let (inbox, pulse) = (inbox, pulse)
        let verdict = Verdict(hooks)
        Monitor(limits: limits, hooks: hooks, pulse: pulse, verdict: verdict).start()
        // JavaScriptCore takes up to 5 MiB of stack for scripts that recurse.
        Thread.start(name: "javascript", stackSize: 8 << 20) {
            let machine = Machine()
            let engine = Engine(
                machine, limits: limits, hooks: hooks, inbox: inbox, pulse: pulse, verdict: verdict)
            if let port = port() { engine.run(port) }
            engine.close()
            if !isLast { machine.close() }
            pulse.finish()
            hooks.stopped()
        }
    }

    /// Starts the project's main script.
    ///
    /// Once in a runtime's life.
    public func run(_ script: Script) {
        inbox.post(.work { $0.runMain(script) })
    }

    /// Calls a function of the script's `actions`.
    ///
    /// - Parameter completion: hears once: what it returned, or `script.action_unknown`, `script.failed`, or its own HostError.
    public func invokeAction(
        _ name: String, _ payload: Payload,
        completion: @escaping @Sendable (Result<Payload, HostError>) -> Void
    ) {
        let waiting = Completion(completion)
        inbox.post(.work { $0.invokeAction(name, payload, waiting) })
    }

    /// The script's `state` as JSON; null where it has none.
    public func readState(completion: @escaping @Sendable (Result<Payload, HostError>) -> Void) {
        let waiting = Completion(completion)
        inbox.post(.work { $0.readState(waiting) })
    }

    /// What the runtime keeps at the moment.
    public func readCounters(completion: @escaping @Sendable (ScriptCounters) -> Void) {
        inbox.post(.work { completion($0.counters) })
    }

    /// Ends the script: running JavaScript is interrupted where that is possible, calls are cancelled, timers
    /// dropped.
    ///
    /// Then `ScriptHooks.stopped` is called, unless an endless loop cannot be interrupted.
    public func stop() {
        pulse.requestStop()
        inbox.post(.stop)
    }

    /// To be called on the main thread before other threads use the engine; the first runtime does it otherwise.
    public static func prepareProcess() { _ = prepared }

    private static let prepared: Void = apsulePrepareEngine()
}
