internal import ApsuleKit
internal import HostCore
internal import Synchronization

/// What other threads have for the engine's thread.
final class Inbox: Sendable {
    enum Item: Sendable {
        case answered(CallSlot, Result<Payload, HostError>)
        case ready(CallSlot)
        case work(@Sendable (Engine) -> Void)
        case stop
    }

    private struct State {
        var items: [Item] = []
        var isWaiting = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let arrival = Signal()
    private let hasItems = Atomic<Bool>(false)

    func post(_ item: Item) {
        let wakes = state.withLock { state in
            guard !state.isClosed else { return false }
            state.items.append(item)
            hasItems.store(true, ordering: .releasing)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if wakes { arrival.post() }
    }

    /// Lets go of what is left, and of what still comes.
    func close() {
        let rest = state.withLock { state in
            state.isClosed = true
            defer { state.items = [] }
            return state.items
        }
        withExtendedLifetime(rest) {}
    }

    /// Swaps what has arrived for the emptied `buffer`.
    func take(_ buffer: inout [Item]) {
        buffer.removeAll(keepingCapacity: true)
        guard hasItems.load(ordering: .acquiring) else { return }
        state.withLock { state in
            swap(&state.items, &buffer)
            hasItems.store(false, ordering: .releasing)
        }
    }

    /// Whether something has arrived.
    var isReady: Bool { hasItems.load(ordering: .acquiring) }

    /// Waits until something arrives; false at `deadline` (nanoseconds of the monotonic clock, nil: no end).
    func wait(until deadline: Int64?) -> Bool {
        let mustWait = state.withLock { state in
            state.isWaiting = state.items.isEmpty
            return state.isWaiting
        }
        guard mustWait else { return true }
        guard let deadline else {
            arrival.wait()
            return true
        }
        if arrival.wait(until: deadline) { return true }
        return state.withLock { state in
            state.isWaiting = false
            return !state.items.isEmpty
        }
    }
}
