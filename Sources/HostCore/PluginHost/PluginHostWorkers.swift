internal import ApsuleKit
internal import Synchronization

/// The threads of a plugin-host, which take turns to read the channel.
///
/// Whoever gets an `invoke` runs it itself, which saves a thread change a call, and another one reads on meanwhile.
///
/// One thread always stays with the channel, so that a cancel is never stuck behind plugins that block.
final class PluginHostWorkers: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        var threads = 1
        var reading = 0
        var running = 0
        var waiting: [Job] = []
        var idleWaiters: [Signal] = []
    }

    private static let limit = 64
    private let state = Mutex(State())
    private let channel: FrameChannel
    private let handle: @Sendable (Frame) -> Job?

    /// - Parameter handle: does what is short at once, and gives back what may block.
    init(_ channel: FrameChannel, handle: @escaping @Sendable (Frame) -> Job?) {
        self.channel = channel
        self.handle = handle
    }

    /// Serves on this thread too, until the channel ends.
    func run() throws(HostError) {
        while true {
            state.withLock { $0.reading += 1 }
            let frame = try channel.receive()
            state.withLock { $0.reading -= 1 }
            guard let frame else { return }
            if let job = handle(frame), take(job) { work(job) }
        }
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

    /// Whether this thread may run the job, as another one reads; else the job waits for a thread that becomes free.
    private func take(_ job: @escaping Job) -> Bool {
        let (mayRun, mustStart) = state.withLock { state in
            let mustStart = state.reading == 0 && state.threads < Self.limit
            if mustStart { state.threads += 1 }
            guard mustStart || state.reading > 0 else {
                state.waiting.append(job)
                return (false, false)
            }
            state.running += 1
            return (true, mustStart)
        }
        if mustStart { Thread.start(name: "apsule.serve", stackSize: 1 << 20) { [self] in serve() } }
        return mayRun
    }

    private func serve() {
        // The error of a broken channel is told by the first thread.
        try? run()
        state.withLock { $0.threads -= 1 }
    }

    private func work(_ first: Job) {
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
