internal import Glibc
internal import HostCore
internal import ScriptText
internal import Synchronization

/// What the engine's thread shows to the others: since when its turn runs, and that it should stop.
final class Pulse: Sendable {
    /// Nanoseconds of the monotonic clock; 0: between turns.
    private let turnStart = Atomic<Int64>(0)
    private let mustStop = Atomic<Bool>(false)
    private let isOver = Atomic<Bool>(false)

    func begin(at time: Int64) { turnStart.store(time, ordering: .relaxed) }
    func end() { turnStart.store(0, ordering: .relaxed) }
    /// Runs what is no work of the script's: its time does not count.
    func pausing(_ body: () -> Void) {
        let start = turnStart.exchange(0, ordering: .relaxed)
        let pause = Clock.nanoseconds
        body()
        if start != 0 { begin(at: start + Clock.nanoseconds - pause) }
    }

    func requestStop() { mustStop.store(true, ordering: .relaxed) }
    func finish() { isOver.store(true, ordering: .relaxed) }

    var isStopRequested: Bool { mustStop.load(ordering: .relaxed) }
    var hasFinished: Bool { isOver.load(ordering: .relaxed) }

    /// How long the present turn has run; nil between turns.
    func age(at time: Int64) -> Int64? {
        let start = turnStart.load(ordering: .relaxed)
        return start == 0 ? nil : time - start
    }
}

/// The first failure counts; several threads may find one.
final class Verdict: Sendable {
    private let hooks: ScriptHooks
    private let isGiven = Atomic<Bool>(false)

    init(_ hooks: ScriptHooks) { self.hooks = hooks }

    func fail(_ error: ScriptError) {
        if isGiven.exchange(true, ordering: .relaxed) { return }
        hooks.failed(error)
    }
}

/// The private memory of this process.
final class MemoryMeter: Sendable {
    private let file: CInt
    private let pageSize = sysconf(CInt(_SC_PAGESIZE))

    init() { file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC) }

    deinit { if file >= 0 { close(file) } }

    /// Bytes that are resident and not shared with a file; 0 where that cannot be read.
    var bytes: Int {
        guard file >= 0 else { return 0 }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = pread(file, buffer.baseAddress, buffer.count, 0)
            var fields = (0, 0, 0)
            var field = 0
            for byte in buffer.prefix(max(0, count)) {
                if byte == UInt8(ascii: " ") {
                    field += 1
                    if field > 2 { break }
                } else if byte >= UInt8(ascii: "0") {
                    let digit = Int(byte - UInt8(ascii: "0"))
                    switch field {
                    case 1: fields.1 = fields.1 * 10 + digit
                    case 2: fields.2 = fields.2 * 10 + digit
                    default: break
                    }
                }
            }
            return max(0, fields.1 - fields.2) * pageSize
        }
    }
}
