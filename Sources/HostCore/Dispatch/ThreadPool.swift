internal import Glibc
internal import Synchronization

/// The threads that plugins run on, so that one that blocks cannot stop the script or another plugin.
///
/// A job that waits wakes one thread, or starts one up to a limit, and that thread wakes the next once it has taken its
/// job: jobs behind one that blocks find threads, while a hundred short ones do not wake a hundred. A thread without work
/// looks for some for a moment before it sleeps, which saves the wake-up between two calls in a row.
///
/// `@unchecked Sendable`: all state is behind the pthread mutex.
public final class ThreadPool: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [@Sendable () -> Void] = []
    private var first = 0
    private var sleeping = 0
    private var threads = 0
    /// A thread has been woken or looks for work, and has not found any yet: it will take the next job.
    private var isSearching = false
    private var isClosed = false
    private let limit: Int
    private let pending = Atomic<Int>(0)
    private var spinning = Spinning()
    private var lastSleep: Int64 = 0

    public init(limit: Int = 64) {
        self.limit = limit
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(wake, nil)
    }

    public func submit(_ job: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        jobs.append(job)
        pending.add(1, ordering: .releasing)
        let helper = callHelper()
        pthread_mutex_unlock(mutex)
        bring(helper)
    }

    /// Lets idle threads end; jobs that wait are still run.
    public func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        pthread_mutex_unlock(mutex)
        pthread_cond_broadcast(wake)
    }

    private enum Helper { case nobody, sleeper, newcomer }

    /// Who is to come for the jobs that wait; called with the mutex held.
    private func callHelper() -> Helper {
        guard first < jobs.count, !isSearching else { return .nobody }
        if sleeping == 0 {
            guard threads < limit else { return .nobody }
            threads += 1
        }
        isSearching = true
        return sleeping > 0 ? .sleeper : .newcomer
    }

    private func bring(_ helper: Helper) {
        switch helper {
        case .nobody: break
        case .sleeper: pthread_cond_signal(wake)
        case .newcomer: Thread.start(name: "apsule.pool", stackSize: 1 << 20) { self.work() }
        }
    }

    private func work() {
        var job = take(searching: true)
        while let present = job {
            present()
            job = take(searching: false)
        }
    }

    /// - Parameter searching: whether this thread is the one that `isSearching` speaks of.
    private func take(searching: Bool) -> (@Sendable () -> Void)? {
        var searching = searching
        pthread_mutex_lock(mutex)
        while true {
            if let job = next() {
                if searching { isSearching = false }
                let helper = callHelper()
                pthread_mutex_unlock(mutex)
                bring(helper)
                return job
            }
            if isClosed {
                if searching { isSearching = false }
                threads -= 1
                pthread_mutex_unlock(mutex)
                return nil
            }
            // One thread looks for work without sleeping; more would only take the processor from the script.
            if searching || !isSearching {
                (searching, isSearching) = (true, true)
                if look() || isClosed { continue }
                isSearching = false
            }
            sleep()
            searching = true
        }
    }

    /// Looks for a job without the mutex, and has it again afterwards.
    private func look() -> Bool {
        guard spinning.isWorthwhile else { return false }
        var spinning = spinning
        pthread_mutex_unlock(mutex)
        _ = spinning.look { pending.load(ordering: .relaxed) > 0 }
        pthread_mutex_lock(mutex)
        self.spinning = spinning
        return first < jobs.count
    }

    private func sleep() {
        lastSleep = Clock.nanoseconds
        sleeping += 1
        pthread_cond_wait(wake, mutex)
        sleeping -= 1
        // Whoever slept last: the others have been idle for long.
        spinning.slept(Clock.nanoseconds - lastSleep)
    }

    private func next() -> (@Sendable () -> Void)? {
        guard first < jobs.count else { return nil }
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
}
