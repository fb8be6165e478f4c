public import ApsuleKit
internal import Synchronization

/// Takes the body of one answer, into memory or into a file, and makes of it what was asked for.
public final class HTTPAnswer: HTTPReceiver {
    private enum Kind: String, ArgumentValue, CaseIterable { case auto, json, text, base64, bytes }

    private let kind: Kind
    private let limit: Int
    private let path: String?
    private let call: Call
    private let state = Mutex(State())

    private struct State {
        var bytes: [UInt8] = []
        var draft: FileDraft?
        var size = 0
    }

    /// What a message's JSON may have, less what stands around the body.
    private static let greatestText = 8 * 1024 * 1024 - 64 * 1024

    /// Reads responseType, maxBytes and downloadTo of a call's arguments, of those that its descriptor knows.
    ///
    /// - Throws: `host.invalid_argument`, and `<family>.<reason>` for a place that cannot be written.
    public init(_ call: Call) throws(HostError) {
        kind = try call["responseType"] ?? .auto
        limit = try call["maxBytes"] ?? 64 * 1024 * 1024
        path = try call["downloadTo"]
        self.call = call
        // Before anything is sent: a place that cannot be written is no reason to have asked a server.
        if let path { _ = try FilePlace(call, path) }
    }

    public func begin(_ response: HTTPResponse) throws(HostError) {
        guard let path, response.head.isSuccess else {
            // What a server announces is no reason to take so much memory before it comes.
            let announced = response.head["content-length"].flatMap { Int($0) } ?? 0
            state.withLock { $0.bytes.reserveCapacity(min(announced, limit, 1024 * 1024)) }
            return
        }
        let draft = try FileDraft(call, path: path)
        state.withLock { $0.draft = draft }
    }

    public func receive(_ bytes: UnsafeRawBufferPointer) throws(HostError) -> Bool {
        let (draft, size) = state.withLock { state in
            state.size += bytes.count
            if state.draft == nil, state.size <= limit { state.bytes += bytes }
            return (state.draft, state.size)
        }
        if let draft {
            try draft.write(bytes)
        } else if size > limit {
            throw tooLarge(limit)
        }
        return true
    }

    /// What the caller gets, when everything has arrived.
    ///
    /// - Returns: {status, ok, url, redirected, httpVersion, headers, setCookies?, type, body, size (bytes)}
    /// - Throws: `<family>.not_json`, `response_too_large`, and what the file's commit does.
    public func message(_ response: HTTPResponse) throws(HostError) -> Message {
        let (bytes, draft, size) = state.withLock { state in
            defer { state = State() }
            return (state.bytes, state.draft, state.size)
        }
        var message = Message()
        let type: String
        let body: JSON
        if let draft, let path {
            try draft.commit()
            (type, body) = ("file", .string(path))
        } else {
            (type, body) = try self.body(bytes, response.head, &message)
        }
        var members: [JSON.Member] = [
            .init("status", .int(Int64(response.head.status))), .init("ok", .bool(response.head.isSuccess)),
            .init("url", .string(response.url.text)), .init("redirected", .bool(response.redirects > 0)),
            .init("httpVersion", .string(response.head.version)), .init("headers", response.head.fields.escaped),
            .init("type", .string(type)), .init("body", body), .init("size", .int(Int64(size))),
        ]
        let cookies = response.head.setCookies
        if !cookies.isEmpty { members.append(.init("setCookies", .array(cookies.map { .string($0) }))) }
        message.json = .object(members)
        return message
    }

    private func body(_ bytes: [UInt8], _ head: HTTPHead, _ message: inout Message) throws(HostError) -> (String, JSON)
    {
        let media = MediaType(head["content-type"])
        switch kind {
        case .json: return ("json", try json(bytes, head))
        case .text: return ("text", try text(bytes, media))
        case .base64:
            guard bytes.count <= Self.greatestText / 4 * 3 else { throw tooLarge(Self.greatestText / 4 * 3) }
            return ("base64", .string(Base64.encode(bytes)))
        case .bytes: return ("bytes", message.attach(bytes))
        case .auto:
            // What says that it is JSON and is not is shown as it is, as is what would not fit into an answer.
            if media.isJSON, bytes.count <= Self.greatestText, let value = try? JSON(parsing: bytes) {
                return ("json", value.escaped)
            }
            if media.isText || media.isJSON, bytes.count <= Self.greatestText {
                return ("text", try text(bytes, media))
            }
            return ("bytes", message.attach(bytes))
        }
    }

    private func json(_ bytes: [UInt8], _ head: HTTPHead) throws(HostError) -> JSON {
        guard bytes.count <= Self.greatestText else { throw tooLarge(Self.greatestText) }
        do throws(JSON.Failure) {
            return try JSON(parsing: bytes).escaped
        } catch {
            throw HostError(
                "\(call.family).not_json", "The body is no JSON: \(error.message) (byte \(error.offset)).",
                details: [
                    "status": .int(Int64(head.status)), "offset": .int(Int64(error.offset)),
                    "reason": .string(error.message),
                ])
        }
    }

    private func text(_ bytes: [UInt8], _ media: MediaType) throws(HostError) -> JSON {
        guard bytes.count <= Self.greatestText else { throw tooLarge(Self.greatestText) }
        return .string(TextDecoder.decode(bytes, charset: media.charset))
    }

    private func tooLarge(_ limit: Int) -> HostError {
        HostError(
            "\(call.family).response_too_large", "The body has more than \(limit) bytes.",
            details: ["limit": .int(Int64(limit))])
    }
}
