/// Whether to look for an answer instead of sleeping until it comes: as the last waits went.
struct Spinning {
    /// How long to look: nanoseconds.
    private(set) var time: Int64 = 0
    private static let most: Int64 = 20_000
    private static let least: Int64 = 2_500

    var isWorthwhile: Bool { time > 0 }

    mutating func note(_ wasWorthwhile: Bool) {
        time = wasWorthwhile ? Self.most : time / 2
        if time < Self.least { time = 0 }
    }

    /// A wait that slept was so short that looking would have done.
    mutating func woke(after wait: Int64) {
        if time == 0, wait < 2 * Self.most { time = Self.most }
    }
}
