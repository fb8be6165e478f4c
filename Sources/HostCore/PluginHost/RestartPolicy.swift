/// Whether a plugin-host that crashed is started again: at once, then after a pause, and after three crashes within five
/// minutes not any more.
public struct RestartPolicy: Sendable {
    public var maximumCrashes: Int
    public var withinMs: Int64
    public var pauseMs: Int64
    private var crashes: [Int64] = []

    public init(maximumCrashes: Int = 3, withinMs: Int64 = 300_000, pauseMs: Int64 = 1_000) {
        self.maximumCrashes = maximumCrashes
        self.withinMs = withinMs
        self.pauseMs = pauseMs
    }

    public enum Verdict: Sendable, Equatable {
        case start
        /// Not before this many milliseconds have passed.
        case wait(Int64)
        /// Not any more: so many crashes in the period.
        case stopped(Int)
    }

    public mutating func crashed(at now: Int64) {
        crashes.append(now)
        crashes.removeAll { now - $0 > withinMs }
        if crashes.count > maximumCrashes { crashes.removeFirst() }
    }

    /// A person asks for another try.
    public mutating func reset() { crashes = [] }

    public func verdict(at now: Int64) -> Verdict {
        let recent = crashes.filter { now - $0 <= withinMs }
        guard let last = recent.last else { return .start }
        if recent.count >= maximumCrashes { return .stopped(recent.count) }
        // The first crash costs no pause, each further one twice the pause before it.
        let pause = recent.count < 2 ? 0 : pauseMs << min(recent.count - 2, 10)
        return now - last >= pause ? .start : .wait(pause - (now - last))
    }
}
