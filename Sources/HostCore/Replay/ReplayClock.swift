internal import Synchronization

/// The thread on which a family's recorded calls are played, in the order in which they are due.
final class ReplayClock: Sendable {
    /// How many times faster than recorded; infinity is at once.
    private let speed: Double
    private let due = Mutex(Due())
    private let changed = Signal()

    private struct Due {
        var items: [(time: Int64, playback: Playback)] = []
        var isClosed = false
    }

    init(speed: Double) {
        self.speed = speed
        Thread.start(name: "apsule.replay") { self.run() }
    }

    /// Nanoseconds that recorded milliseconds take here.
    func duration(_ milliseconds: Int64) -> Int64 {
        let time = Double(milliseconds) * 1e6 / speed
        return time < 1e18 ? Int64(time) : .max / 2
    }

    /// Has a playback step at a time of the monotonic clock, in nanoseconds.
    func schedule(_ playback: Playback, at time: Int64) {
        due.withLock { due in
            guard !due.isClosed else { return }
            let index = due.items.firstIndex { $0.time > time } ?? due.items.count
            due.items.insert((time, playback), at: index)
        }
        changed.post()
    }

    func close() {
        due.withLock { $0 = Due(items: [], isClosed: true) }
        changed.post()
    }

    private func run() {
        while true {
            let (next, wait, isClosed) = due.withLock { due -> (Playback?, Int64?, Bool) in
                guard let first = due.items.first else { return (nil, nil, due.isClosed) }
                let wait = first.time - Clock.nanoseconds
                return wait <= 0 ? (due.items.removeFirst().playback, 0, false) : (nil, wait, false)
            }
            if isClosed { return }
            if let next {
                next.step()
            } else if let wait {
                _ = changed.wait(milliseconds: Int(min(wait / 1_000_000 + 1, 60_000)))
            } else {
                changed.wait()
            }
        }
    }
}
