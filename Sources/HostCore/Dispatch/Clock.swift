internal import Glibc

/// Milliseconds of the monotonic clock, and of the day's.
public enum Clock {
    public static var now: Int64 { read(CLOCK_MONOTONIC) }
    public static var wall: Int64 { read(CLOCK_REALTIME) }

    /// Nanoseconds of the monotonic clock.
    public static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
