import ApsuleKit

/// One server-sent event.
struct ServerEvent: Sendable, Hashable {
    var event = "message"
    var data: String
    /// The last id that the server gave, perhaps with an earlier event.
    var id: String
}

/// Makes events of the bytes of an event stream, wherever they are cut.
///
/// Source: <https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation>
struct EventParser {
    private(set) var lastID: String
    /// What the server asked for last, in milliseconds.
    private(set) var retry: Int64?

    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var event = ""
    private var id: String
    private var isFirstLine = true
    private var endedWithReturn = false

    /// What an event may have, less than a message's JSON takes when every byte of it is escaped.
    static let greatest = 4 * 1024 * 1024

    init(lastID: String = "") { (self.lastID, id) = (lastID, lastID) }

    /// - Throws: `sse.event_too_large`.
    mutating func take(_ bytes: UnsafeRawBufferPointer, _ found: (ServerEvent) -> Void) throws(HostError) {
        var rest = bytes[...]
        while let first = rest.first {
            // The second half of a line's end, perhaps of the last piece.
            if endedWithReturn, first == Self.feed {
                rest.removeFirst()
                endedWithReturn = false
                continue
            }
            endedWithReturn = false
            guard let end = rest.firstIndex(where: { $0 == Self.feed || $0 == Self.carriageReturn }) else {
                return try add(rest)
            }
            try add(rest[..<end])
            endedWithReturn = rest[end] == Self.carriageReturn
            rest = rest[(end + 1)...]
            if let event = endLine() { found(event) }
        }
    }

    private static let feed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private mutating func add(_ bytes: Slice<UnsafeRawBufferPointer>) throws(HostError) {
        guard line.count + data.count + bytes.count <= Self.greatest else {
            throw HostError(
                "sse.event_too_large", "An event has more than \(Self.greatest) bytes.",
                details: ["limit": .int(Int64(Self.greatest))])
        }
        line += bytes
    }

    private mutating func endLine() -> ServerEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        var text = line[...]
        if isFirstLine {
            isFirstLine = false
            if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
        }
        if text.isEmpty { return dispatch() }
        let colon = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        var value = text[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        // A comment has no name.
        switch String(decoding: text[..<colon], as: UTF8.self) {
        case "data":
            data += value
            data.append(Self.feed)
        case "event": event = String(decoding: value, as: UTF8.self)
        case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case "retry":
            if !value.isEmpty, value.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) {
                retry = Int64(String(decoding: value, as: UTF8.self)) ?? .max
            }
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> ServerEvent? {
        lastID = id
        defer {
            data.removeAll(keepingCapacity: true)
            event = ""
        }
        guard !data.isEmpty else { return nil }
        let found = ServerEvent(
            event: event.isEmpty ? "message" : event, data: String(decoding: data.dropLast(), as: UTF8.self), id: id)
        return found
    }
}
