internal import Synchronization

/// The running streams of a family by the ids of their handles, so that another call can end one: `sse.close(id)`.
///
///     let streams = StreamTable()
///     func connect(_ call: Call, _ events: EventStream) async throws -> JSON {
///         try await streams.run { id in … events.open(["id": .string(id)]) … } ?? .null
///     func close(_ call: Call) throws -> JSON { ["closed": .bool(streams.end(try call["id"]))] }
public final class StreamTable: Sendable {
    private let state = Mutex(State())

    private struct State {
        var last = 0
        var cancels: [String: @Sendable () -> Void] = [:]
    }

    public init() {}

    /// Runs a stream's work as a task of its own, which ends with the caller's.
    ///
    /// - Returns: nil when `end` ended it.
    public func run<R: Sendable>(_ body: @escaping @Sendable (_ id: String) async throws -> R) async throws -> R? {
        // In one step: whoever hears of the id at once may end it at once.
        let (id, task) = state.withLock { state in
            state.last += 1
            let id = String(state.last)
            let task = Task { try await body(id) }
            state.cancels[id] = { task.cancel() }
            return (id, task)
        }
        do {
            let result = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            _ = remove(id)
            return result
        } catch {
            guard remove(id) else { return nil }
            throw error
        }
    }

    /// Ends a stream.
    ///
    /// - Returns: whether there is one of that id, and nobody ended it before.
    public func end(_ id: String) -> Bool {
        let cancel = state.withLock { $0.cancels.removeValue(forKey: id) }
        cancel?()
        return cancel != nil
    }

    private func remove(_ id: String) -> Bool { state.withLock { $0.cancels.removeValue(forKey: id) != nil } }
}
