import ApsuleKit
internal import Synchronization

/// Lets one of several callers do the starting while the others wait for its outcome.
final class Starting: Sendable {
    private let waiting = Mutex<[OneShot<Void>]?>(nil)

    var isRunning: Bool { waiting.withLock { $0 != nil } }

    func run(_ start: @escaping @Sendable () async throws(HostError) -> Void) async throws(HostError) {
        let mine = OneShot<Void>()
        let isFirst = waiting.withLock { waiting in
            defer { waiting = (waiting ?? []) + [mine] }
            return waiting == nil
        }
        if isFirst {
            // A task of its own: the caller may be cancelled while others still wait.
            Task { [self] in
                let outcome: Result<Void, any Error>
                do throws(HostError) {
                    try await start()
                    outcome = .success(())
                } catch {
                    outcome = .failure(error)
                }
                let all = waiting.withLock { waiting in
                    defer { waiting = nil }
                    return waiting ?? []
                }
                for one in all { one.finish(outcome) }
            }
        }
        do {
            try await mine.value()
        } catch {
            throw error as? HostError ?? .cancelled
        }
    }
}
