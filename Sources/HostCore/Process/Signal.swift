internal import CProcess
internal import Glibc

/// A counting semaphore: one thread posts, another waits for it.
///
/// `@unchecked Sendable`: a semaphore takes any thread.
final class Signal: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func post() { sem_post(semaphore) }

    func wait() {
        while sem_wait(semaphore) != 0 {}
    }

    /// Whether it was posted in time.
    func wait(milliseconds: Int) -> Bool { process_wait_semaphore(semaphore, Int64(max(0, milliseconds))) == 0 }
}
