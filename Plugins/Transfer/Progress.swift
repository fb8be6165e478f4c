import ApsuleKit
import ApsuleTransport
import Synchronization

/// What the transfer thread says of one transfer, at the pace at which the project hears of it.
final class Progress: Sendable {
    enum Note: Sendable {
        case start(HTTPResponse?)
        case progress
        case resuming(HostError, delay: Int64)
    }

    let notes: AsyncStream<Note>
    private let inbox: AsyncStream<Note>.Continuation
    private let state = Mutex(State())

    private struct State {
        var bytes: Int64 = 0
        var total: Int64?
        var told = ContinuousClock.now
        /// A note of progress waits to be read, and will say what is so by then.
        var isWaiting = false
    }

    private static let interval = Duration.milliseconds(100)

    init() { (notes, inbox) = AsyncStream.makeStream() }

    func note(_ note: Note) { inbox.yield(note) }
    func finish() { inbox.finish() }

    func advance(to bytes: Int64, of total: Int64?) {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            (state.bytes, state.total) = (bytes, total)
            guard !state.isWaiting, now - state.told >= Self.interval else { return false }
            (state.isWaiting, state.told) = (true, now)
            return true
        }
        if isDue { inbox.yield(.progress) }
    }

    /// What is so now: {bytes, total?}.
    var json: JSON {
        let (bytes, total) = state.withLock { state in
            state.isWaiting = false
            return (state.bytes, state.total)
        }
        return .object([.init("bytes", .int(bytes))] + (total.map { [.init("total", .int($0))] } ?? []))
    }
}

extension TransferFamily {
    /// Runs a transfer as a stream: `start`, `progress`, `complete` or `cancelled`.
    ///
    /// - Returns: what `work` does, which is what `complete` says.
    func run(
        _ call: Call, _ events: EventStream, _ progress: Progress,
        _ work: @escaping @Sendable () async throws -> Message
    ) async throws -> Message {
        let result = try await transfers.run { id in
            events.open(["id": .string(id)])
            async let outcome = {
                defer { progress.finish() }
                return try await work()
            }()
            for await note in progress.notes { try await Self.tell(note, progress, events) }
            try Task.checkCancellation()
            return try await outcome
        }
        guard let result else {
            try await events.send("cancelled", progress.json)
            throw HostError.cancelled
        }
        try await events.send("complete", result)
        return result
    }

    private static func tell(_ note: Progress.Note, _ progress: Progress, _ events: EventStream) async throws {
        switch note {
        case .start(let response):
            var json = progress.json
            if let response {
                json.set("status", .int(Int64(response.head.status)))
                json.set("url", .string(response.url.text))
            }
            try await events.send("start", json)
        case .progress: try await events.send("progress", progress.json)
        case .resuming(let error, let delay):
            var json = progress.json
            json.set("delayMs", .int(delay))
            json.set("code", .string(error.code))
            json.set("message", .string(error.message))
            try await events.send("resuming", json)
        }
    }

    static func httpStatus(_ response: HTTPResponse, body: String? = nil) -> HostError {
        var details: JSON = ["status": .int(Int64(response.head.status)), "url": .string(response.url.text)]
        if let body { details.set("body", .string(body)) }
        return HostError(
            "transfer.http_status", "The server answers with status \(response.head.status).", details: details)
    }
}
