internal import ApsuleKit

/// What the host sends a plugin-host.
enum PluginRequest: Sendable {
    /// Opens the instance: first of all, and once.
    case open(project: JSON)
    case invoke(call: UInt64, operation: Int, isStream: Bool, Payload)
    case cancel(call: UInt64)
    /// The stream may send this much more.
    case grant(call: UInt64, events: Int, bytes: Int)
    /// Nobody listens to the stream any more.
    case stop(call: UInt64)
    /// The answer to a question; `file` belongs to the receiver.
    case answer(question: UInt64, Int32, file: OwnedFile?)
    case probe
    case close

    private enum Kind: UInt8 { case open = 1, invoke, cancel, grant, stop, answer, probe, close }

    func frame() throws(HostError) -> Frame {
        var body = WireEncoder()
        var files: [OwnedFile] = []
        let kind: Kind
        switch self {
        case .open(let project):
            kind = .open
            try PayloadCoding.encode(Payload(project), into: &body, files: &files)
        case .invoke(let call, let operation, let isStream, let arguments):
            kind = .invoke
            body.put(call)
            body.put(UInt32(operation))
            body.put(isStream)
            try PayloadCoding.encode(arguments, into: &body, files: &files)
        case .cancel(let call):
            kind = .cancel
            body.put(call)
        case .grant(let call, let events, let bytes):
            kind = .grant
            body.put(call)
            body.put(UInt32(clamping: events))
            body.put(UInt32(clamping: bytes))
        case .stop(let call):
            kind = .stop
            body.put(call)
        case .answer(let question, let result, let file):
            kind = .answer
            body.put(question)
            body.put(result)
            if let file { files.append(file) }
        case .probe: kind = .probe
        case .close: kind = .close
        }
        return Frame(kind.rawValue, body.bytes, files: files)
    }

    init(_ frame: Frame) throws(HostError) {
        guard let kind = Kind(rawValue: frame.kind) else { throw .malformed("a frame of kind \(frame.kind)") }
        var body = WireDecoder(frame.body)
        var files = frame.files[...]
        switch kind {
        case .open:
            let payload = try PayloadCoding.decode(&body, files: &files)
            self = .open(project: payload?.value ?? .null)
        case .invoke:
            let call = try body.number(UInt64.self)
            let operation = Int(try body.number(UInt32.self))
            let isStream = try body.flag()
            let arguments = try PayloadCoding.decode(&body, files: &files) ?? .emptyObject
            self = .invoke(call: call, operation: operation, isStream: isStream, arguments)
        case .cancel: self = .cancel(call: try body.number())
        case .grant:
            self = .grant(
                call: try body.number(), events: Int(try body.number(UInt32.self)),
                bytes: Int(try body.number(UInt32.self)))
        case .stop: self = .stop(call: try body.number())
        case .answer: self = .answer(question: try body.number(), try body.number(), file: files.popFirst())
        case .probe: self = .probe
        case .close: self = .close
        }
        try body.finish()
    }
}
