import Synchronization

/// What the plugin asked the gate about.
final class Asked: Sendable {
    private let state = Mutex([String]())
    var values: [String] { state.withLock { $0 } }
    func note(_ value: String) { state.withLock { $0.append(value) } }
}
