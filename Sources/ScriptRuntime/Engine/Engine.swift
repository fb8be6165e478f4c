internal import ApsuleKit
internal import CJavaScriptCore
internal import Glibc
internal import HostCore
internal import ScriptText

/// The event loop of one JavaScript context.
///
/// Made, used and ended on one thread, which never pumps a main loop.
///
/// Source: <https://developer.apple.com/documentation/javascriptcore/javascriptcore-c-api>
final class Engine {
    let limits: ScriptLimits
    let hooks: ScriptHooks
    let inbox: Inbox
    let pulse: Pulse
    let verdict: Verdict
    private let machine: Machine
    var context: JSGlobalContextRef { machine.context }
    let watchdog: Watchdog
    /// What both sides of the bridge read and write without a call.
    let shared: SharedFields
    let prelude: PreludeFunctions

    var operations: [BoundOperation] = []
    var slots: [CallSlot?] = []
    var delivery = Delivery()
    var outgoing: [UInt8] = []
    var scratch = Scratch()
    var sources = ScriptSources()
    /// Who waits for an answer of the script's actions.
    var completions: [Int: Completion] = [:]
    var lastCompletion = 0
    /// When the next timer is due: milliseconds since `start`.
    var wakeAt = Double.infinity
    let start = Clock.nanoseconds
    var isOver = false
    private var isRunning = false
    private var isSettled = true
    private var items: [Inbox.Item] = []
    private var givenPort: (any CallPort)?
    private var idle: IdleWork
    private var spinning = Spinning()

    init(
        _ machine: Machine, limits: ScriptLimits, hooks: ScriptHooks, inbox: Inbox, pulse: Pulse, verdict: Verdict
    ) {
        (self.limits, self.hooks) = (limits, hooks)
        (self.inbox, self.pulse, self.verdict) = (inbox, pulse, verdict)
        self.machine = machine
        let context = machine.context
        watchdog = Watchdog(group: machine.group, limits: limits, pulse: pulse)
        shared = SharedFields(context)
        idle = IdleWork(context: context, loop: machine.loop)
        prelude = PreludeFunctions(context)
        Natives.bind(self)
        prelude.load(shared)
        if !limits.allowsEval {
            withJSString("eval and new Function are switched off in projects") {
                JSGlobalContextSetEvalEnabled(context, false, $0)
            }
        }
    }

    /// Ends every call and lets go of the machine.
    ///
    /// Nothing but the machine may be used afterwards.
    func close() {
        for case let slot? in slots {
            slot.stream.isOver = true
            slot.stream.call?.cancel()
            slot.stream.call = nil
        }
        slots = []
        inbox.close()
        items = []
        completions = [:]
        watchdog.close()
        prelude.close(context)
        shared.close(context)
        Natives.unbind()
    }

    /// What the script calls.
    var port: any CallPort {
        guard let givenPort else { preconditionFailure("the script runs before there is something to call") }
        return givenPort
    }

    // MARK: - The loop

    func run(_ port: any CallPort) {
        givenPort = port
        call(prelude.nameFamilies)
        while !isOver {
            inbox.take(&items)
            for item in items { handle(item) }
            flush()
            fireTimers()
            if shared[.engineWork] > 0 { turn { idle.pump() } }
            finishTurns()
            if !isOver { wait() }
        }
    }

    private func handle(_ item: Inbox.Item) {
        guard !isOver else { return }
        switch item {
        case .answered(let slot, let result): take(slot, result)
        case .ready(let slot):
            slot.takeAnnouncement()
            pump(slot)
        case .work(let body):
            flush()
            body(self)
        case .stop: isOver = true
        }
    }

    private func fireTimers() {
        // Each has a turn of its own; after some, what has arrived meanwhile comes first.
        var budget = 100
        while !isOver, budget > 0, wakeAt <= milliseconds {
            budget -= 1
            call(prelude.fireTimer)
        }
    }

    private func finishTurns() {
        guard !isOver, isRunning else { return }
        if idle.isDueForCheck(at: Clock.nanoseconds), watchdog.isOverMemory {
            collect()
            if watchdog.isOverMemory { return fail(.outOfMemory(limits.memoryMB, isStuck: false)) }
        }
        let isAlive = shared[.alive] > 0 || shared[.engineWork] > 0
        if isAlive { isSettled = false }
        guard !isAlive, !isSettled else { return }
        isSettled = true
        if shared[.mainPending] > 0 { return fail(.stalled(sources.mainPath)) }
        hooks.settled()
    }

    private func wait() {
        // Where answers have been coming at once, one more look is cheaper than sleeping.
        if shared[.alive] > 0, spinning.isWorthwhile, spinning.look(for: { inbox.isReady }) { return }
        let now = Clock.nanoseconds
        var deadline: Int64?
        if wakeAt < .infinity { deadline = start + Int64(wakeAt * 1_000_000) }
        if shared[.engineWork] > 0 { deadline = min(deadline ?? .max, now + 1_000_000) }
        if let collection = idle.deadline(at: now), collection < deadline ?? .max {
            if !inbox.wait(until: collection) { collect() }
        } else {
            _ = inbox.wait(until: deadline)
        }
        spinning.slept(Clock.nanoseconds - now)
    }

    private func collect() {
        // Finalizers may run JavaScript.
        turn { idle.collect() }
        idle.didCollect()
    }

    /// Milliseconds since the runtime began.
    var milliseconds: Double { Double(Clock.nanoseconds - start) / 1_000_000 }

    // MARK: - Turns

    /// Runs JavaScript, its microtasks included.
    func turn(_ body: () -> Void) {
        let now = Clock.nanoseconds
        pulse.begin(at: now)
        watchdog.enter(at: now)
        body()
        pulse.end()
        idle.didTurn()
        guard let reason = watchdog.reason, !isOver else { return }
        switch reason {
        case .unresponsive: fail(located(.unresponsive(limits.turnMs, isStuck: false), stack: watchdog.stack))
        case .outOfMemory: fail(located(.outOfMemory(limits.memoryMB, isStuck: false), stack: watchdog.stack))
        case .stopped: isOver = true
        }
    }

    /// Calls one of the prelude's functions.
    ///
    /// What it throws is a failure of the project.
    @discardableResult
    func call(
        _ function: JSObjectRef?, _ first: JSValueRef? = nil, _ second: JSValueRef? = nil, _ third: JSValueRef? = nil,
        _ fourth: JSValueRef? = nil
    ) -> JSValueRef? {
        var result: JSValueRef?
        var exception: JSValueRef?
        // On the stack, where the collector looks for what is in use.
        withUnsafeTemporaryAllocation(of: JSValueRef?.self, capacity: 4) { arguments in
            let count = [first, second, third, fourth].withUnsafeBufferPointer { values in
                _ = arguments.initialize(from: values)
                return values.lastIndex { $0 != nil }.map { $0 + 1 } ?? 0
            }
            turn {
                result = JSObjectCallAsFunction(context, function, nil, count, arguments.baseAddress, &exception)
            }
        }
        guard let exception else { return result }
        if !isOver, watchdog.reason == nil { uncaught(exception) }
        return nil
    }

    /// The script has begun: from now on its end is watched for.
    func begin() {
        isRunning = true
        isSettled = false
    }

    func expectSettling() { isSettled = false }

    var counters: ScriptCounters {
        var counters = ScriptCounters()
        (counters.calls, counters.places) = (slots.count { $0 != nil }, slots.count)
        counters.alive = Int(shared[.alive])
        return counters
    }

    func fail(_ error: ScriptError) {
        isOver = true
        verdict.fail(error)
    }
}

func apsulePrepareEngine() { apsule_wtf_initialize_main_thread() }
