import ApsuleKit

/// The events of one stream between plugin and receiver: bounded, in order, and either lossless or latest-first.
///
/// A plain value without I/O; the call that owns it holds its lock.
struct EventQueue {
    /// A lossless stream is told to hold at `highWater` events and may go on at `lowWater`.
    static let highWater = 64
    static let lowWater = 16
    static let maximumCount = 1_000
    static let maximumBytes = 8 << 20
    /// A stream that drops keeps this many of the newest.
    static let latestCount = 256

    enum Accepted { case proceed, hold, overflow }

    private let delivery: OperationDescriptor.Delivery
    private var items: [(name: String, payload: Payload)] = []
    private var first = 0
    private var bytes = 0
    private var dropped = 0
    /// How often the plugin was told to hold and not yet to go on.
    private(set) var holds = 0

    init(_ delivery: OperationDescriptor.Delivery) { self.delivery = delivery }

    var isEmpty: Bool { first == items.count && dropped == 0 }
    private var count: Int { items.count - first }

    mutating func append(_ name: String, _ payload: Payload) -> Accepted {
        items.append((name, payload))
        bytes += Self.size(payload)
        switch delivery {
        case .latest:
            while count > Self.latestCount || bytes > Self.maximumBytes && count > 1 {
                removeFirst()
                dropped += 1
            }
            return .proceed
        case .lossless:
            if count > Self.maximumCount || bytes > Self.maximumBytes && count > 1 { return .overflow }
            guard count >= Self.highWater || bytes > Self.maximumBytes / 8 else { return .proceed }
            holds += 1
            return .hold
        }
    }

    /// The next event; first of all how many were dropped before it.
    mutating func next() -> (name: String, payload: Payload)? {
        if dropped > 0 {
            defer { dropped = 0 }
            return ("dropped", Payload(["count": .int(Int64(dropped))]))
        }
        guard first < items.count else { return nil }
        return removeFirst()
    }

    /// How many holds are over now that the receiver has caught up.
    mutating func takeResumes() -> Int {
        guard holds > 0, count <= Self.lowWater, bytes <= Self.maximumBytes / 8 else { return 0 }
        defer { holds = 0 }
        return holds
    }

    /// Forgets everything, holds too: for a call that is told to stop.
    mutating func clear() { self = EventQueue(delivery) }

    @discardableResult
    private mutating func removeFirst() -> (name: String, payload: Payload) {
        let item = items[first]
        // Let go of the payload at once; the slot itself goes when enough have gathered.
        items[first] = ("", .null)
        first += 1
        bytes -= Self.size(item.payload)
        if first == items.count || first > 256 {
            items.removeSubrange(0..<first)
            first = 0
        }
        return item
    }

    private static func size(_ payload: Payload) -> Int {
        payload.blobs.reduce(payload.json.count + 64) { $0 + $1.count }
    }
}
