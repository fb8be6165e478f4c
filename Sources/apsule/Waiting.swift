import ApsuleKit
import Glibc
import HostCore
import Synchronization

/// The first Ctrl-C stops cleanly, the second ends the process.
enum Interrupt {
    private static let count = Atomic<Int>(0)

    static var wasInterrupted: Bool { count.load(ordering: .relaxed) > 0 }

    private static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        return signals
    }

    /// Keeps signals until `onInterrupt`.
    ///
    /// To be called before any thread starts: one that does not block them would take
    /// them, and end the process.
    static func hold() {
        var signals = signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Runs `handler` on a thread of its own at the first SIGINT or SIGTERM, and `second` before the second one ends
    /// the process.
    static func onInterrupt(_ handler: @escaping @Sendable () -> Void, second: @escaping @Sendable () -> Void = {}) {
        HostCore.Thread.start(name: "apsule.signals") {
            var signals = signals
            while true {
                var number: Int32 = 0
                guard sigwait(&signals, &number) == 0 else { continue }
                if count.add(1, ordering: .relaxed).newValue > 1 {
                    second()
                    _exit(ExitCode.interrupted.rawValue)
                }
                handler()
            }
        }
    }
}

/// Lines of plugins on stderr.
final class StandardErrorConsole: ConsoleSink {
    func write(_ level: LogLevel, source: String, _ text: String) {
        if let line = Self.line(level, source, text) { Output.error(line) }
    }

    /// The line as it is shown; nil for what only APSULE_DEBUG shows.
    static func line(_ level: LogLevel, _ source: String, _ text: String) -> String? {
        if level == .debug, getenv("APSULE_DEBUG") == nil { return nil }
        return "\(source): \(SafeText.escape(text, limit: 4_000))"
    }
}
