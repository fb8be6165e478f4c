import ApsuleDBus
internal import Synchronization

/// Who is told of something until their subscriptions end.
final class Listeners<Event: Sendable>: Sendable {
    private let state = Mutex(State())

    private struct State {
        var listeners: [Int: @Sendable (Event) -> Void] = [:]
        var next = 0
    }

    func add(_ listener: @escaping @Sendable (Event) -> Void) -> Subscription {
        let key = state.withLock { state in
            state.next += 1
            state.listeners[state.next] = listener
            return state.next
        }
        return Subscription { [weak self] in self?.state.withLock { _ = $0.listeners.removeValue(forKey: key) } }
    }

    /// Calls everyone on this thread.
    func tell(_ event: Event) {
        for listener in state.withLock({ $0.listeners.values }) { listener(event) }
    }
}
