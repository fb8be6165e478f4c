public import ApsuleKit
import CApsule
import Synchronization

/// One running call.
public final class TestCall: Sendable {
    public let id: UInt64
    private let desk: TestDesk
    private let canceller: @Sendable () -> Void
    private let resumer: @Sendable () -> Void

    init(
        _ id: UInt64, _ desk: TestDesk, cancel: @escaping @Sendable () -> Void, resume: @escaping @Sendable () -> Void
    ) {
        (self.id, self.desk, canceller, resumer) = (id, desk, cancel, resume)
    }

    /// Waits for the answer; for a stream, that is its handle.
    public func answer() async throws -> Message { try await desk.answer(id).value() }

    /// Waits for the end of a stream: its final value, or the error it ended with.
    public func end() async throws -> Message { try await desk.ending(id).value() }

    /// The events so far, each as `{type, …}` of its payload.
    public var events: [(name: String, payload: Message)] { desk.events(id) }

    /// Waits until the stream has delivered so many events.
    public func events(count: Int) async throws -> [(name: String, payload: Message)] {
        while events.count < count { try await Task.sleep(for: .milliseconds(1)) }
        return events
    }

    /// Makes `event` answer hold from now on, or continue again.
    public func setHold(_ hold: Bool) { desk.setHold(id, hold) }

    public func resume() { resumer() }
    public func cancel() { canceller() }
}
