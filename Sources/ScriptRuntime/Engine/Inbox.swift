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
    }

    private let state = Mutex(State())
    private let semaphore = Semaphore()

    func post(_ item: Item) {
        let wakes = state.withLock { state in
            state.items.append(item)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if wakes { semaphore.signal() }
    }

    /// Swaps what has arrived for the emptied `buffer`.
    func take(_ buffer: inout [Item]) {
        buffer.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.items, &buffer) }
    }

    /// Waits until something arrives; false at `deadline` (nanoseconds of the monotonic clock, nil: no end).
    func wait(until deadline: Int64?) -> Bool {
        let mustWait = state.withLock { state in
            state.isWaiting = state.items.isEmpty
            return state.isWaiting
        }
        guard mustWait else { return true }
        if semaphore.wait(until: deadline) { return true }
        return state.withLock { state in
            state.isWaiting = false
            return !state.items.isEmpty
        }
    }
}
