internal import Glibc
internal import Synchronization

/// The threads that plugins run on, so that one that blocks cannot stop the script or another plugin.
///
/// Grows while every thread is busy, up to a limit; beyond it jobs wait. An idle thread looks for work for some
/// microseconds before it sleeps, which saves the wake-up between two calls in a row.
///
/// `@unchecked Sendable`: all state is behind the pthread mutex.
public final class ThreadPool: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [@Sendable () -> Void] = []
    private var first = 0
    private var sleeping = 0
    private var spinning = 0
    private var threads = 0
    private var isClosed = false
    private let limit: Int
    private let pending = Atomic<Int>(0)

    public init(limit: Int = 64) {
        self.limit = limit
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(wake, nil)
    }

    public func submit(_ job: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        jobs.append(job)
        pending.add(1, ordering: .releasing)
        let waiting = jobs.count - first
        let grow = waiting > sleeping + spinning && threads < limit
        if grow { threads += 1 }
        let signal = !grow && waiting > spinning && sleeping > 0
        pthread_mutex_unlock(mutex)
        if grow { start() }
        if signal { pthread_cond_signal(wake) }
    }

    /// Lets idle threads end; jobs that wait are still run.
    public func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        pthread_mutex_unlock(mutex)
        pthread_cond_broadcast(wake)
    }

    private func start() {
        Thread.start(name: "apsule.pool", stackSize: 1 << 20) { self.work() }
    }

    private func work() {
        while let job = take() { job() }
    }

    private func take() -> (@Sendable () -> Void)? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if first < jobs.count {
                let job = jobs[first]
                first += 1
                // Compact now and then instead of moving the array at each job.
                if first == jobs.count || first > 1024 {
                    jobs.removeSubrange(0..<first)
                    first = 0
                }
                pending.subtract(1, ordering: .relaxed)
                return job
            }
            if isClosed {
                threads -= 1
                return nil
            }
            // One thread looks for work without sleeping; more would only take the processor from the script.
            if spinning == 0 {
                spinning = 1
                pthread_mutex_unlock(mutex)
                var turns = 0
                while turns < 2_000, pending.load(ordering: .relaxed) == 0 {
                    turns += 1
                    if turns % 256 == 0 { sched_yield() }
                }
                pthread_mutex_lock(mutex)
                spinning = 0
                if first < jobs.count || isClosed { continue }
            }
            sleeping += 1
            pthread_cond_wait(wake, mutex)
            sleeping -= 1
        }
    }
}
