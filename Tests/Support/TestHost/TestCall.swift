public import ApsuleKit
import CApsule
import Synchronization

/// One running call.
public final class TestCall: Sendable {
    public let id: UInt64
    private let desk: TestDesk
    private let contract: TestContract
    private let operation: String
    private let canceller: @Sendable () -> Void
    private let resumer: @Sendable () -> Void

    init(
        _ id: UInt64, _ desk: TestDesk, _ contract: TestContract, _ operation: String,
        cancel: @escaping @Sendable () -> Void, resume: @escaping @Sendable () -> Void
    ) {
        (self.id, self.desk, self.contract, self.operation) = (id, desk, contract, operation)
        (canceller, resumer) = (cancel, resume)
    }

    /// Waits for the answer; for a stream, that is its handle.
    ///
    /// - Throws: the error it failed with; `test.contract` for an answer or error that the manifest does not declare.
    public func answer() async throws -> Message {
        try await contract.check(operation, "result") { try await self.desk.answer(self.id).value() }
    }

    /// Waits for the end of a stream: its final value, or the error it ended with.
    public func end() async throws -> Message {
        try await contract.check(operation, "final") { try await self.desk.ending(self.id).value() }
    }

    /// The events so far, each as `{type, …}` of its payload.
    public var events: [(name: String, payload: Message)] { desk.events(id) }

    /// Waits until the stream has delivered so many events.
    public func events(count: Int) async throws -> [(name: String, payload: Message)] {
        while events.count < count { try await Task.sleep(for: .milliseconds(1)) }
        for event in events { try contract.check(operation, event: event.name, event.payload) }
        return events
    }

    /// Whether it has had its terminal, which `end` then gives without waiting.
    public var hasEnded: Bool { desk.hasEnded(id) }

    /// Makes `event` answer hold from now on, or continue again.
    public func setHold(_ hold: Bool) { desk.setHold(id, hold) }

    public func resume() { resumer() }
    public func cancel() { canceller() }
}
