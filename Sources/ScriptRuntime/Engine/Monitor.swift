internal import ApsuleKit
internal import HostCore
internal import ScriptText

/// Watches the engine's thread from another one, since an endless chain of microtasks cannot be seen or stopped from
/// inside: JavaScriptCore's own limit starts anew with each of them.
final class Monitor: Sendable {
    private let limits: ScriptLimits
    private let hooks: ScriptHooks
    private let pulse: Pulse
    private let verdict: Verdict
    private let memory = MemoryMeter()
    private let timer = Signal()

    init(limits: ScriptLimits, hooks: ScriptHooks, pulse: Pulse, verdict: Verdict) {
        (self.limits, self.hooks, self.pulse, self.verdict) = (limits, hooks, pulse, verdict)
    }

    func start() {
        Thread.start(name: "script-monitor") { self.run() }
    }

    private func run() {
        let tick = Int64(min(max(limits.turnMs / 10, 20), 100)) * 1_000_000
        // The engine's own limit comes first, where it can: it stops the script and knows the line.
        let grace: Int64 = 500_000_000
        var lastBeat: Int64 = 0
        var overruns = 0
        while !pulse.hasFinished {
            let now = Clock.nanoseconds
            let age = pulse.age(at: now)
            if let age, age > Int64(limits.turnMs) * 1_000_000 + grace {
                return verdict.fail(.unresponsive(limits.turnMs, isStuck: true))
            }
            if age != nil, memory.bytes > limits.memoryMB << 20 {
                overruns += 1
                if overruns > 5 { return verdict.fail(.outOfMemory(limits.memoryMB, isStuck: true)) }
            } else {
                overruns = 0
            }
            if now - lastBeat >= 500_000_000 {
                lastBeat = now
                hooks.heartbeat()
            }
            _ = timer.wait(until: now + (age == nil ? 500_000_000 : tick))
        }
    }
}
