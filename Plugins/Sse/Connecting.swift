import ApsuleKit
import ApsuleTransport

extension SseFamily {
    /// Delivers the events of a server, and connects again when the connection is lost.
    ///
    /// - Parameter call: {url, method, headers?, query?, json? or text?, lastEventId?, reconnect?, retryMs, silenceMs?,
    ///   cookies, maxRedirects, connectTimeoutMs}
    /// - Throws: before the first answer whatever goes wrong, later what another attempt does not mend:
    ///   `sse.http_status`, `not_a_stream`, `event_too_large`, `permission.denied`, `certificate_invalid`.
    /// - Source: <https://html.spec.whatwg.org/multipage/server-sent-events.html>
    func connect(_ call: Call, _ events: EventStream) async throws -> JSON {
        let source = try EventSource(call)
        _ = try await streams.run { [self] id in try await deliver(source, id, call, events) }
        return .null
    }

    /// Ends a stream of events.
    ///
    /// - Returns: {closed}: whether there was one.
    func close(_ call: Call) throws -> JSON { ["closed": .bool(streams.end(try call["id"]))] }

    private func deliver(_ first: EventSource, _ id: String, _ call: Call, _ events: EventStream) async throws {
        var source = first
        while true {
            let loss = try await round(&source, id, call, events)
            guard let loss else { return }
            guard source.reconnects else { return try source.giveUp(loss) }
            let delay = source.delay
            let problem: [JSON.Member] =
                loss.error.map {
                    [.init("code", .string($0.code)), .init("message", .string($0.message))]
                } ?? []
            try await events.send("reconnecting", JSON.object([.init("delayMs", .int(delay))] + problem))
            try await Task.sleep(for: .milliseconds(delay))
        }
    }

    /// One connection, from its opening to its loss.
    ///
    /// - Returns: nil when the server has no more.
    private func round(
        _ source: inout EventSource, _ id: String, _ call: Call, _ events: EventStream
    ) async throws -> EventSource.Loss? {
        let (items, inbox) = AsyncThrowingStream<EventReceiver.Item, any Error>.makeStream()
        let receiver = EventReceiver(lastID: source.lastID, inbox)
        let transfer = transport.start(source.next, for: call, to: receiver) { result in
            switch result {
            case .success: inbox.finish()
            case .failure(let error): inbox.finish(throwing: error)
            }
        }
        defer { transfer.cancel() }
        do {
            for try await item in items {
                switch item {
                case .open(let response):
                    events.open(["id": .string(id)])
                    try await events.send(
                        "open",
                        [
                            "url": .string(response.url.text), "headers": response.head.fields.escaped,
                            "reconnected": .bool(source.wasOpen),
                        ])
                    source.opened()
                case .event(let event):
                    let json: JSON = [
                        "event": .string(event.event), "data": .string(event.data), "id": .string(event.id),
                    ]
                    try await events.send("message", json)
                    if receiver.tookEvent() { transfer.resume() }
                }
            }
        } catch let error as HostError {
            source.remember(receiver)
            try Task.checkCancellation()
            return try source.lost(error)
        }
        try Task.checkCancellation()
        source.remember(receiver)
        return receiver.hasEnded ? nil : try source.lost(nil)
    }
}

/// What is asked for, and what is known of it from the connections so far.
struct EventSource: Sendable {
    /// The end of a connection; without an error the server ended its answer.
    struct Loss: Sendable { let error: HostError? }

    private let request: HTTPRequest
    private(set) var lastID: String
    let reconnects: Bool
    private var retry: Int64
    private(set) var wasOpen = false
    private var failures = 0

    // Milliseconds.
    private static let longestDelay: Int64 = 30_000
    private static let longestRetry: Int64 = 3_600_000
    private static let shortestRetry: Int64 = 100

    init(_ call: Call) throws(HostError) {
        var request = try HTTPRequest(call)
        let given = Set(request.headers.map { $0.name.lowercased() })
        for header in [HTTPHeader("Accept", "text/event-stream"), HTTPHeader("Cache-Control", "no-cache")]
        where !given.contains(header.name.lowercased()) {
            request.headers.append(header)
        }
        guard !given.contains("last-event-id") else {
            throw .invalidArgument("headers", expected: "the argument lastEventId", got: "Last-Event-ID")
        }
        // Compression keeps back what is short.
        request.acceptsCompression = false
        let silence: Int? = try call["silenceMs"]
        request.stallTimeout = silence.map { .milliseconds($0) }
        lastID = try call["lastEventId"] ?? ""
        guard !lastID.utf8.contains(where: { [0, 10, 13].contains($0) }) else {
            throw .invalidArgument("lastEventId", expected: "text in one line", got: "a control character in it")
        }
        // What was posted once is not posted again unless that is wanted.
        reconnects = try call["reconnect"] ?? (request.method == "GET")
        let asked: Int = try call["retryMs"] ?? 2_000
        retry = Int64(asked)
        self.request = request
    }

    var next: HTTPRequest {
        var next = request
        if !lastID.isEmpty { next.headers.append(HTTPHeader("Last-Event-ID", lastID)) }
        return next
    }

    /// Milliseconds until the next attempt.
    var delay: Int64 {
        let factor = Int64(1) << Int64(min(max(failures - 1, 0), 20))
        return max(retry, min(retry * factor, Self.longestDelay))
    }

    mutating func opened() { (wasOpen, failures) = (true, 0) }

    mutating func remember(_ receiver: EventReceiver) {
        lastID = receiver.lastID
        if let asked = receiver.retry { retry = min(max(asked, Self.shortestRetry), Self.longestRetry) }
    }

    /// - Throws: what no other attempt would mend; before the first answer everything.
    mutating func lost(_ error: HostError?) throws(HostError) -> Loss {
        if let error {
            guard wasOpen, Self.passing.contains(error.code) else { throw error }
            failures += 1
        }
        return Loss(error: error)
    }

    /// What the end of the only connection means.
    func giveUp(_ loss: Loss) throws(HostError) {
        if let error = loss.error { throw error }
    }

    private static let passing: Set = [
        "sse.connection_lost", "sse.connect_failed", "sse.timed_out", "sse.dns_failed", "sse.proxy_failed",
        "sse.invalid_response",
    ]
}
