internal import ApsuleKit

/// What a plugin-host sends the host.
///
/// The plugin behind it may be hostile: every value is checked by who receives it.
enum PluginReport: Sendable {
    /// The instance is open; the operations in the order that `invoke` counts.
    case opened(operations: [String])
    case refused(HostError)
    case probed(JSON)
    case reply(call: UInt64, Payload?)
    case fail(call: UInt64, HostError)
    case event(call: UInt64, name: String, Payload?)
    case end(call: UInt64, Payload?)
    case log(LogLevel, String)
    case openPath(question: UInt64, call: UInt64, path: String, flags: Int32, mode: UInt32)
    case allows(question: UInt64, call: UInt64, scope: String, value: String)
    case dataDirectory(question: UInt64)
    case closed

    private enum Kind: UInt8 {
        case opened = 1, refused, probed, reply, fail, event, end, log, openPath, allows, dataDirectory, closed
    }

    func frame() throws(HostError) -> Frame {
        var body = WireEncoder()
        var files: [OwnedFile] = []
        let kind: Kind
        switch self {
        case .opened(let operations):
            kind = .opened
            body.put(UInt32(operations.count))
            for name in operations { body.put(name) }
        case .refused(let error):
            kind = .refused
            try PayloadCoding.encode(Payload(error.json), into: &body, files: &files)
        case .probed(let status):
            kind = .probed
            try PayloadCoding.encode(Payload(status), into: &body, files: &files)
        case .reply(let call, let result):
            kind = .reply
            body.put(call)
            try PayloadCoding.encode(result, into: &body, files: &files)
        case .fail(let call, let error):
            kind = .fail
            body.put(call)
            try PayloadCoding.encode(Payload(error.json), into: &body, files: &files)
        case .event(let call, let name, let event):
            kind = .event
            body.put(call)
            body.put(name)
            try PayloadCoding.encode(event, into: &body, files: &files)
        case .end(let call, let final):
            kind = .end
            body.put(call)
            try PayloadCoding.encode(final, into: &body, files: &files)
        case .log(let level, let message):
            kind = .log
            body.put(level.rawValue)
            body.put(message)
        case .openPath(let question, let call, let path, let flags, let mode):
            kind = .openPath
            body.put(question)
            body.put(call)
            body.put(path)
            body.put(flags)
            body.put(mode)
        case .allows(let question, let call, let scope, let value):
            kind = .allows
            body.put(question)
            body.put(call)
            body.put(scope)
            body.put(value)
        case .dataDirectory(let question):
            kind = .dataDirectory
            body.put(question)
        case .closed: kind = .closed
        }
        return Frame(kind.rawValue, body.bytes, files: files)
    }

    init(_ frame: Frame) throws(HostError) {
        guard let kind = Kind(rawValue: frame.kind) else { throw .malformed("a frame of kind \(frame.kind)") }
        var body = WireDecoder(frame.body)
        var files = frame.files[...]
        switch kind {
        case .opened:
            let count = try body.number(UInt32.self)
            guard count <= 4_096 else { throw .malformed("\(count) operations") }
            var operations: [String] = []
            for _ in 0..<count { operations.append(try body.text()) }
            self = .opened(operations: operations)
        case .refused: self = .refused(try Self.error(&body, &files))
        case .probed: self = .probed(try PayloadCoding.decode(&body, files: &files)?.value ?? .null)
        case .reply: self = .reply(call: try body.number(), try PayloadCoding.decode(&body, files: &files))
        case .fail: self = .fail(call: try body.number(), try Self.error(&body, &files))
        case .event:
            self = .event(
                call: try body.number(), name: try body.text(), try PayloadCoding.decode(&body, files: &files))
        case .end: self = .end(call: try body.number(), try PayloadCoding.decode(&body, files: &files))
        case .log: self = .log(LogLevel(rawValue: try body.number()) ?? .info, try body.text())
        case .openPath:
            self = .openPath(
                question: try body.number(), call: try body.number(), path: try body.text(), flags: try body.number(),
                mode: try body.number())
        case .allows:
            self = .allows(
                question: try body.number(), call: try body.number(), scope: try body.text(), value: try body.text())
        case .dataDirectory: self = .dataDirectory(question: try body.number())
        case .closed: self = .closed
        }
        try body.finish()
    }

    private static func error(
        _ body: inout WireDecoder, _ files: inout ArraySlice<OwnedFile>
    ) throws(HostError) -> HostError {
        let json = try PayloadCoding.decode(&body, files: &files)?.value ?? .null
        return HostError(json: json, fallback: "plugin.failed")
    }
}
