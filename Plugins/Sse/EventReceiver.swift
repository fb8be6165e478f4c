import ApsuleKit
import ApsuleTransport
import Synchronization

/// Takes one answer of an event source, and stops the reading while its events wait.
final class EventReceiver: HTTPReceiver {
    enum Item: Sendable {
        case open(HTTPResponse)
        case event(ServerEvent)
    }

    private let parser: Mutex<EventParser>
    private let items: AsyncThrowingStream<Item, any Error>.Continuation
    private let isAnswered = Atomic(false)
    private let isOver = Atomic(false)
    private let waiting = Atomic(0)
    private let wantsRoom = Atomic(false)

    /// So many events wait at most, and what else a piece of the body brings.
    private static let most = 64

    init(lastID: String, _ items: AsyncThrowingStream<Item, any Error>.Continuation) {
        parser = Mutex(EventParser(lastID: lastID))
        self.items = items
    }

    var lastID: String { parser.withLock { $0.lastID } }
    /// Milliseconds.
    var retry: Int64? { parser.withLock { $0.retry } }
    /// Whether the answer was one with events.
    var hasOpened: Bool { isAnswered.load(ordering: .sequentiallyConsistent) }
    /// Whether the server said that there are no more.
    var hasEnded: Bool { isOver.load(ordering: .sequentiallyConsistent) }

    func begin(_ response: HTTPResponse) throws(HostError) {
        let head = response.head
        if head.status == 204 { return isOver.store(true, ordering: .sequentiallyConsistent) }
        guard head.status == 200 else {
            throw HostError(
                "sse.http_status", "The server answers with status \(head.status).",
                details: ["status": .int(Int64(head.status))])
        }
        let type = MediaType(head["content-type"]).essence
        guard type == "text/event-stream" else {
            throw HostError(
                "sse.not_a_stream",
                "The server answers with \(type.isEmpty ? "no type" : type), not text/event-stream.",
                details: ["type": .string(type)])
        }
        isAnswered.store(true, ordering: .sequentiallyConsistent)
        items.yield(.open(response))
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(HostError) -> Bool {
        if waiting.load(ordering: .sequentiallyConsistent) >= Self.most {
            wantsRoom.store(true, ordering: .sequentiallyConsistent)
            // Room that was made before anybody was seen to want it would never be told of.
            if waiting.load(ordering: .sequentiallyConsistent) >= Self.most { return false }
        }
        try parser.withLock { (parser) throws(HostError) in
            try parser.take(bytes) { event in
                waiting.add(1, ordering: .sequentiallyConsistent)
                items.yield(.event(event))
            }
        }
        return true
    }

    /// One event was taken.
    ///
    /// - Returns: whether the transfer is to go on.
    func tookEvent() -> Bool {
        let left = waiting.subtract(1, ordering: .sequentiallyConsistent).newValue
        guard left < Self.most else { return false }
        return wantsRoom.exchange(false, ordering: .sequentiallyConsistent)
    }
}
