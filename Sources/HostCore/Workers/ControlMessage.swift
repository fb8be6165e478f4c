public import ApsuleKit

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
public final class ControlChannel: Sendable {
    private let channel: FrameChannel

    public init(_ socket: OwnedFile) { channel = FrameChannel(socket) }

    /// - Returns: false when the other side is gone.
    @discardableResult
    public func send(_ kind: ControlKind, _ body: JSON = .object([]), files: [OwnedFile] = []) -> Bool {
        if case .closed = channel.sendWaiting(Frame(kind.rawValue, body.bytes, files: files)) { return false }
        return true
    }

    /// Whether it was sent; what the other side is too slow for is dropped.
    @discardableResult
    public func offer(_ kind: ControlKind, _ body: JSON) -> Bool {
        if case .sent = channel.send(Frame(kind.rawValue, body.bytes)) { return true }
        return false
    }

    /// Waits for the next message; nil at the end, and for what breaks the protocol.
    public func receive() -> (kind: ControlKind, body: JSON, files: [OwnedFile])? {
        guard let frame = try? channel.receive(), let kind = ControlKind(rawValue: frame.kind),
            let body = try? JSON(parsing: frame.body)
        else { return nil }
        return (kind, body, frame.files)
    }

    public func close() { channel.close() }
}
