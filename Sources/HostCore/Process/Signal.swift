internal import CProcess
internal import Glibc

/// A counting semaphore: one thread posts, another waits for it; free of system calls while nobody waits.
///
/// `@unchecked Sendable`: a semaphore takes any thread, and the pointer never changes.
public final class Signal: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    public init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    public func post() { sem_post(semaphore) }

    public func wait() {
        while sem_wait(semaphore) != 0 {}
    }

    /// False when `deadline` (nanoseconds of the monotonic clock) came first.
    public func wait(until deadline: Int64) -> Bool {
        process_wait_semaphore(semaphore, deadline) == 0
    }

    /// Whether it was posted in time.
    func wait(milliseconds: Int) -> Bool { wait(until: Clock.nanoseconds + Int64(max(0, milliseconds)) * 1_000_000) }
}
