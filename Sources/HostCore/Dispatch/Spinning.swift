internal import CHostCore
internal import Glibc

/// Looks for a moment whether something has come before its thread sleeps, since waking it costs more than most calls
/// take; goes by how the last waits went.
public struct Spinning: Sendable {
    /// How long to look: nanoseconds.
    private var time = most
    private var shortSleeps = 0
    private static let most: Int64 = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1 ? 20_000 : 0
    private static let least: Int64 = 2_500
    /// So many sleeps in a row must have been too short for it before looking is tried again.
    private static let patience = 32

    public init() {}

    public var isWorthwhile: Bool { time > 0 }

    /// True as soon as `isReady`; false when it was not within the time.
    public mutating func look(for isReady: () -> Bool) -> Bool {
        let start = Clock.nanoseconds
        var elapsed: Int64 = 0
        var isFound = false
        repeat {
            for _ in 0..<8 where !isFound {
                isFound = isReady()
                if !isFound { host_relax() }
            }
            elapsed = Clock.nanoseconds - start
        } while !isFound && elapsed < time
        // Longer than that: others had the processor meanwhile, and who sleeps gets it back sooner than who looks.
        if elapsed > 2 * Self.most {
            time = 0
        } else {
            time = isFound ? Self.most : time / 2
        }
        if time < Self.least { time = 0 }
        return isFound
    }

    /// How long a sleep took, in nanoseconds.
    public mutating func slept(_ wait: Int64) {
        shortSleeps = wait < 2 * Self.most ? shortSleeps + 1 : 0
        guard shortSleeps >= Self.patience else { return }
        (time, shortSleeps) = (Self.most, 0)
    }
}
