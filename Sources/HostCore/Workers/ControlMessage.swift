public import ApsuleKit
internal import Synchronization

/// What a worker and its parent say to each other over the control socket: a kind, and one JSON object.
public enum ControlKind: UInt8, Sendable {
    // From the worker.
    case ready = 1
    case ask = 2
    case allows = 3
    case note = 4
    case console = 5
    case heartbeat = 6
    case settled = 7
    case failed = 8
    case desk = 9
    /// Asks for a plugin-host; its answer carries the socket to it.
    case pluginHost = 10
    // From the parent.
    case start = 32
    case answer = 33
    case revoked = 34
    case stop = 35
    /// The plugins of others have changed.
    case families = 36
    // From either.
    /// A piece of a message that is too long for one frame.
    case part = 64
}

extension Verdict {
    var json: JSON {
        switch self {
        case .allowed(let once, let expires):
            ["allowed": true, "once": .bool(once), "expires": expires.map { .int($0) } ?? .null]
        case .denied(let error): ["allowed": false, "error": error.json]
        }
    }

    /// What no parent would say is a denial.
    init(json: JSON) {
        if json["allowed"] == true {
            self = .allowed(once: json["once"] == true, expires: json["expires"]?.intValue)
        } else {
            self = .denied(HostError(json: json["error"] ?? .null, fallback: "permission.denied"))
        }
    }
}

/// A control socket: frames with JSON bodies, requests with answers.
///
/// What is too long for one frame goes in parts, between which other messages may come.
public final class ControlChannel: Sendable {
    /// The longest message, in bytes of JSON.
    public static let maximumMessage = 32 << 20

    private let channel: FrameChannel
    private let lastLong = Atomic<Int>(0)
    private let parts = Mutex<[Int64: [UInt8]]>([:])

    public init(_ socket: OwnedFile) { channel = FrameChannel(socket) }

    /// - Returns: false when the other side is gone, and for a message beyond `maximumMessage`.
    @discardableResult
    public func send(_ kind: ControlKind, _ body: JSON = .object([]), files: [OwnedFile] = []) -> Bool {
        let bytes = body.bytes
        guard bytes.count > FrameReader.maximumBody else { return sendFrame(Frame(kind.rawValue, bytes, files: files)) }
        guard bytes.count <= Self.maximumMessage else { return false }
        let number = Int64(lastLong.add(1, ordering: .relaxed).newValue)
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(FrameReader.maximumBody - ControlPart.headerSize)
            rest = rest.dropFirst(part.count)
            let header = ControlPart.header(number, kind, isLast: rest.isEmpty)
            guard sendFrame(Frame(ControlKind.part.rawValue, header + part, files: rest.isEmpty ? files : [])) else {
                return false
            }
        }
        return true
    }

    private func sendFrame(_ frame: Frame) -> Bool {
        if case .closed = channel.sendWaiting(frame) { return false }
        return true
    }

    /// Whether it was sent; what the other side is too slow for is dropped, and what is too long for one frame.
    @discardableResult
    public func offer(_ kind: ControlKind, _ body: JSON) -> Bool {
        let bytes = body.bytes
        guard bytes.count <= FrameReader.maximumBody else { return false }
        if case .sent = channel.send(Frame(kind.rawValue, bytes)) { return true }
        return false
    }

    /// Waits for the next message; nil at the end, and for what breaks the protocol.
    ///
    /// - Parameter working: hears when this side has something to do, which takes a while for a long message, and when
    ///   it waits again for more of it.
    public func receive(
        working: (Bool) -> Void = { _ in }
    ) -> (kind: ControlKind, body: JSON, files: [OwnedFile])? {
        while let frame = try? channel.receive() {
            working(true)
            guard var kind = ControlKind(rawValue: frame.kind) else { return nil }
            var bytes = frame.body
            if kind == .part {
                guard let part = ControlPart(frame.body), let whole = join(part) else { return nil }
                guard part.isLast else {
                    working(false)
                    continue
                }
                (kind, bytes) = (part.kind, whole)
            }
            guard let body = try? JSON(parsing: bytes) else { return nil }
            return (kind, body, frame.files)
        }
        return nil
    }

    /// What has come of a long message with this part; nil where it is more than anybody may send.
    private func join(_ part: ControlPart) -> [UInt8]? {
        parts.withLock { parts in
            parts[part.number, default: []] += part.bytes
            guard parts.values.reduce(0, { $0 + $1.count }) <= Self.maximumMessage else { return nil }
            return part.isLast ? parts.removeValue(forKey: part.number) : []
        }
    }

    public func close() { channel.close() }
}

/// A piece of a long message: `i64` number of the message, `u8` its kind, `u8` 1 in the last one, bytes; little-endian.
struct ControlPart {
    static let headerSize = 10
    let number: Int64
    let kind: ControlKind
    let isLast: Bool
    let bytes: ArraySlice<UInt8>

    static func header(_ number: Int64, _ kind: ControlKind, isLast: Bool) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } + [kind.rawValue, isLast ? 1 : 0]
    }

    init?(_ body: [UInt8]) {
        guard body.count > Self.headerSize, let kind = ControlKind(rawValue: body[8]), kind != .part else { return nil }
        number = (0..<8).reduce(0) { $0 | Int64(body[$1]) << (8 * $1) }
        (self.kind, isLast, bytes) = (kind, body[9] == 1, body[Self.headerSize...])
    }
}
