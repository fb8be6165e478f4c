internal import CHostCore

/// Looks for a moment whether something has come before its thread sleeps, since waking it costs more than most calls
/// take; goes by how the last waits went.
///
/// What it costs: nothing while a program rests, since nobody looks twice for what does not come. Where threads answer
/// each other within 100 µs and looking never helps, one look in 8 to 256 sleeps.
public struct Spinning: Sendable {
    /// How long to look: nanoseconds.
    private var time = most
    private var shortSleeps = 0
    /// So many sleeps in a row must have been short before looking is tried again.
    private var patience = leastPatience
    /// To wake a thread takes up to this on a virtual machine, and the thread looks itself from then on.
    private static let most: Int64 = host_usable_processors() > 1 ? 50_000 : 0
    private static let least: Int64 = 20_000
    /// A longer sleep waits for something else than a thread that answers.
    private static let short: Int64 = 100_000
    private static let leastPatience = 8
    private static let greatestPatience = 256

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
            giveUp()
        } else if isFound {
            (time, patience) = (Self.most, Self.leastPatience)
        } else {
            time /= 2
            if time < Self.least { giveUp() }
        }
        return isFound
    }

    private mutating func giveUp() {
        (time, shortSleeps) = (0, 0)
        patience = min(2 * patience, Self.greatestPatience)
    }

    /// How long a sleep took, in nanoseconds.
    public mutating func slept(_ wait: Int64) {
        shortSleeps = wait < Self.short ? shortSleeps + 1 : 0
        guard shortSleeps >= patience else { return }
        (time, shortSleeps) = (Self.most, 0)
    }
}
