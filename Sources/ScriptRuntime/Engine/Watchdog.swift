internal import CJavaScriptCore
internal import HostCore

/// JavaScriptCore's execution limit, used as a tick inside a running turn: it ends turns that are too long or too large.
///
/// While the limit is set, every entry into the engine costs 0.6 µs, microtasks too. So it is off while a script crosses
/// the bridge tens of thousands of times a second; the Monitor still watches then, and ends the process instead.
final class Watchdog {
    enum Reason { case unresponsive, outOfMemory, stopped }

    /// Why the engine was told to end the running script; it cannot be caught there.
    private(set) var reason: Reason?
    /// Where the script was then, as the engine's own stack text.
    private(set) var stack = ""
    private let group: JSContextGroupRef
    private let limits: ScriptLimits
    private let pulse: Pulse
    private let memory = MemoryMeter()
    private var isArmed = false
    private var crossings = 0
    private var windowStart: Int64 = 0
    private static let tick = 0.02
    private static let window: Int64 = 100_000_000
    private static let busy = 1_000

    init(group: JSContextGroupRef, limits: ScriptLimits, pulse: Pulse) {
        (self.group, self.limits, self.pulse) = (group, limits, pulse)
    }

    /// A turn begins.
    func enter(at time: Int64) {
        if time - windowStart > Self.window {
            if crossings < Self.busy, !isArmed { arm() }
            (windowStart, crossings) = (time, 0)
        }
        cross()
    }

    /// The script called the host.
    @inline(__always)
    func cross() {
        crossings += 1
        if crossings == Self.busy, isArmed { disarm() }
    }

    private func arm() {
        isArmed = true
        JSContextGroupSetExecutionTimeLimit(group, Self.tick, watchdogTick, Unmanaged.passUnretained(self).toOpaque())
    }

    /// No limit, but still our callback: a tick that is under way already would end the script if there were none to ask.
    private func disarm() {
        isArmed = false
        JSContextGroupSetExecutionTimeLimit(group, .infinity, watchdogTick, Unmanaged.passUnretained(self).toOpaque())
    }

    /// To be called when nothing of the engine may call back any more, between turns.
    func close() {
        isArmed = false
        JSContextGroupClearExecutionTimeLimit(group)
    }

    fileprivate func ticked(_ context: JSContextRef?) -> Bool {
        guard reason == nil else { return true }
        if pulse.isStopRequested {
            reason = .stopped
        } else if let age = pulse.age(at: Clock.nanoseconds), age > Int64(limits.turnMs) * 1_000_000 {
            reason = .unresponsive
        } else if memory.bytes > limits.memoryMB << 20 {
            reason = .outOfMemory
        } else {
            // Answering false takes the limit off.
            if isArmed { arm() }
            return false
        }
        if let context, let text = JSContextCreateBacktrace(context, 10) {
            stack = String(javaScript: text)
            JSStringRelease(text)
        }
        return true
    }

    /// Whether memory is over its limit though nothing runs.
    var isOverMemory: Bool { memory.bytes > limits.memoryMB << 20 }
    var memoryBytes: Int { memory.bytes }
}

/// Runs on the engine's thread, inside the script.
///
/// `data` is the Watchdog, which its Engine keeps until the context is gone.
private func watchdogTick(_ context: JSContextRef?, _ data: UnsafeMutableRawPointer?) -> Bool {
    guard let data else { return true }
    return Unmanaged<Watchdog>.fromOpaque(data).takeUnretainedValue().ticked(context)
}
