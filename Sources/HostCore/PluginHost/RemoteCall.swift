internal import ApsuleKit
internal import Synchronization

/// One call that runs in a plugin-host, as the host knows it.
final class RemoteCall: Sendable {
    let operation: String
    let sink: any CallSink
    private let state = Mutex(State())

    private struct State {
        var window = StreamWindow.Receiver()
        var isReplied = false
        var isStopped = false
    }

    init(_ operation: String, _ sink: any CallSink) { (self.operation, self.sink) = (operation, sink) }

    enum Next {
        case nothing
        case grant(events: Int, bytes: Int)
        case stop
    }

    /// Whether this is the first reply; a stream's second one is dropped.
    func markReplied() -> Bool {
        state.withLock { state in
            defer { state.isReplied = true }
            return !state.isReplied
        }
    }

    /// Hands an event on; what to tell the plugin-host of it.
    func event(_ name: String, _ payload: Payload?) -> Next {
        let size = name.utf8.count + (payload?.json.count ?? 0) + (payload?.blobs.reduce(0) { $0 + $1.count } ?? 0)
        let flow = sink.event(name, payload)
        return state.withLock { state in
            if flow == .stop {
                defer { state.isStopped = true }
                return state.isStopped ? .nothing : .stop
            }
            return state.window.took(size, isHeld: flow == .hold).map { .grant(events: $0.events, bytes: $0.bytes) }
                ?? .nothing
        }
    }

    func resumed() -> Next {
        state.withLock { state in
            state.window.resumed().map { .grant(events: $0.events, bytes: $0.bytes) } ?? .nothing
        }
    }
}
