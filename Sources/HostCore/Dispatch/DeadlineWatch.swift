internal import Glibc
internal import Synchronization

/// Ends late calls: looks at all of them every 20 ms while any runs, and sleeps otherwise.
///
/// Looking at up to 1,280 calls is cheaper than a timer a call, which would be made and dropped for each of them.
///
/// `@unchecked Sendable`: all state is atomic or behind the pthread mutex.
final class DeadlineWatch: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let isAsleep = Atomic<Bool>(false)
    private let isStopped = Atomic<Bool>(false)
    private static let interval: UInt32 = 20_000
    /// How many idle looks before it sleeps: a program that calls all the time should not have to wake it each time.
    private static let idleLooks = 25

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func start(of dispatcher: Dispatcher) {
        Thread.start(name: "apsule.deadline") { [weak dispatcher] in
            var idle = 0
            while !self.isStopped.load(ordering: .acquiring) {
                guard let running = dispatcher?.expire() else { return }
                idle = running ? 0 : idle + 1
                if idle > Self.idleLooks {
                    self.sleep { dispatcher?.isIdle ?? false }
                } else {
                    usleep(Self.interval)
                }
            }
        }
    }

    private func sleep(while isIdle: () -> Bool) {
        pthread_mutex_lock(mutex)
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        // Looked at again after saying that it sleeps: a call that began before may have seen it awake.
        if isIdle() {
            // Bounded, so that a dispatcher that went away is noticed.
            var until = timespec()
            clock_gettime(CLOCK_REALTIME, &until)
            until.tv_sec += 1
            pthread_cond_timedwait(condition, mutex, &until)
        }
        isAsleep.store(false, ordering: .sequentiallyConsistent)
        pthread_mutex_unlock(mutex)
    }

    /// A call has begun.
    func wake() {
        guard isAsleep.load(ordering: .sequentiallyConsistent) else { return }
        pthread_mutex_lock(mutex)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        wake()
    }
}
