internal import CJavaScriptCore
internal import Glibc

/// A POSIX semaphore: free of system calls while nobody waits.
///
/// `@unchecked Sendable`: the functions of `sem_t` are safe on any thread, and the pointer never changes.
final class Semaphore: @unchecked Sendable {
    private let pointer: UnsafeMutablePointer<sem_t>

    init() {
        pointer = .allocate(capacity: 1)
        sem_init(pointer, 0, 0)
    }

    deinit {
        sem_destroy(pointer)
        pointer.deallocate()
    }

    func signal() { sem_post(pointer) }

    /// False when `deadline` (nanoseconds of the monotonic clock) came first.
    func wait(until deadline: Int64?) -> Bool {
        guard let deadline else {
            while sem_wait(pointer) != 0 {}
            return true
        }
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        while sem_clockwait(pointer, CLOCK_MONOTONIC, &time) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}

/// Nanoseconds of the monotonic clock.
func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
