internal import ApsuleKit
internal import Synchronization

/// The threads of a plugin-host, which take turns to read the channel.
///
/// Whoever gets an `invoke` runs it itself, which saves a thread change a call, and another one reads on meanwhile.
///
/// One thread always stays with the channel, so that a cancel is never stuck behind plugins that block.
final class PluginHostWorkers: Sendable {
    typealias Job = @Sendable () -> Void

    /// What a frame calls for, once the next one may be read.
    enum Work {
        case none
        /// May block: waits where there is no thread for it.
        case job(Job)
        /// Is short, and must not wait behind what blocks.
        case urgent(Job)
    }

    private struct State {
        var threads = 1
        var reading = 0
        var running = 0
        var waiting: [Job] = []
        var idleWaiters: [Signal] = []
    }

    private static let limit = 64
    /// Threads beyond the limit for what is urgent.
    private static let reserve = 8
    private let state = Mutex(State())
    private let channel: FrameChannel
    private let handle: @Sendable (Frame) -> Work
    /// The turn to read.
    ///
    /// Held until a frame is taken note of, so that a cancel finds the call that came before it.
    private let turn = Mutex(())

    /// - Parameter handle: takes note of a frame, which must not block, and gives back what to do about it.
    init(_ channel: FrameChannel, handle: @escaping @Sendable (Frame) -> Work) {
        self.channel = channel
        self.handle = handle
    }

    /// Serves on this thread too, until the channel ends.
    func run() throws(HostError) {
        while true {
            if let waiting = takeWaiting() { run(waiting) }
            guard let work = try next() else { return }
            switch work {
            case .none: break
            case .job(let job): if take(job) { run(job) }
            case .urgent(let job):
                provideReader(limit: Self.limit + Self.reserve)
                job()
            }
        }
    }

    private func next() throws(HostError) -> Work? {
        state.withLock { $0.reading += 1 }
        defer { state.withLock { $0.reading -= 1 } }
        let result: Result<Work?, HostError> = turn.withLock { _ in
            do throws(HostError) {
                return .success(try channel.receive().map(handle))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Waits until no job runs; whether that came about in time.
    func waitUntilIdle(milliseconds: Int) -> Bool {
        let signal: Signal? = state.withLock { state in
            guard state.running > 0 || !state.waiting.isEmpty else { return nil }
            let signal = Signal()
            state.idleWaiters.append(signal)
            return signal
        }
        return signal?.wait(milliseconds: milliseconds) ?? true
    }

    /// A job that had to wait, where another thread reads.
    private func takeWaiting() -> Job? {
        state.withLock { state in
            guard state.reading > 0, !state.waiting.isEmpty else { return nil }
            state.running += 1
            return state.waiting.removeFirst()
        }
    }

    /// Whether this thread may run the job, as another one reads; else the job waits for a thread that becomes free.
    private func take(_ job: @escaping Job) -> Bool {
        provideReader(limit: Self.limit)
        return state.withLock { state in
            guard state.reading > 0 else {
                state.waiting.append(job)
                return false
            }
            state.running += 1
            return true
        }
    }

    /// Starts a thread where none reads, up to the limit; it counts as reading from now on.
    private func provideReader(limit: Int) {
        let mustStart = state.withLock { state in
            guard state.reading == 0, state.threads < limit else { return false }
            state.threads += 1
            state.reading += 1
            return true
        }
        if mustStart { Thread.start(name: "apsule.serve", stackSize: 1 << 20) { [self] in serve() } }
    }

    private func serve() {
        state.withLock { $0.reading -= 1 }
        // The error of a broken channel is told by the first thread.
        try? run()
        state.withLock { $0.threads -= 1 }
    }

    private func run(_ first: Job) {
        var job = first
        while true {
            job()
            let (next, idle): (Job?, [Signal]) = state.withLock { state in
                if !state.waiting.isEmpty { return (state.waiting.removeFirst(), []) }
                state.running -= 1
                guard state.running == 0 else { return (nil, []) }
                defer { state.idleWaiters = [] }
                return (nil, state.idleWaiters)
            }
            idle.forEach { $0.post() }
            guard let next else { return }
            job = next
        }
    }
}
