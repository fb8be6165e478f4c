import ApsuleKit

/// How bytes go out: `encoding`.
enum Encoding: String, ArgumentValue, CaseIterable {
    case hex, base64, text
    /// A `Uint8Array`.
    case bytes

    func message(_ bytes: [UInt8]) throws(HostError) -> Message {
        switch self {
        case .hex: return Message(.string(Self.hexadecimal(bytes)))
        case .base64: return Message(.string(Base64.encode(bytes)))
        case .text: return Message(.string(try Self.text(bytes)))
        case .bytes:
            var message = Message()
            message.json = message.attach(bytes)
            return message
        }
    }

    /// - Throws: `crypto.not_utf8`.
    static func text(_ bytes: [UInt8]) throws(HostError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HostError("crypto.not_utf8", "The bytes are no UTF-8 text; ask for another encoding.")
        }
        return text
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = StaticString("0123456789abcdef").utf8Start
        return String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (index, byte) in bytes.enumerated() {
                text[index * 2] = digits[Int(byte >> 4)]
                text[index * 2 + 1] = digits[Int(byte & 15)]
            }
            return bytes.count * 2
        }
    }
}

/// What an operation reads: `{text}`, `{base64}` or `{path}`.
enum Input {
    case bytes([UInt8])
    case file(String)

    private static let piece = 128 * 1024

    init(_ call: Call) throws(HostError) {
        switch try call.arguments.only("text", "base64", "path") {
        case "path": self = .file(try call["path"])
        default: self = .bytes(try Content(call.arguments).bytes)
        }
    }

    /// Hands the input to `hasher`, a file piece by piece.
    ///
    /// - Throws: `crypto.<why the file cannot be read>`, `host.cancelled`.
    func feed<H: Hasher & ~Copyable>(_ hasher: inout H, _ call: Call) throws(HostError) {
        switch self {
        case .bytes(let bytes):
            try bytes.withUnsafeBufferPointer { (bytes) throws(HostError) in try hasher.update(bytes) }
        case .file(let path):
            let file = try FileSource(call, path: path)
            var buffer = [UInt8](repeating: 0, count: Self.piece)
            var offset = 0
            while true {
                if call.isCancelled { throw .cancelled }
                let count = try file.read(into: &buffer, at: offset)
                if count == 0 { return }
                offset += count
                try buffer.withUnsafeBufferPointer { (bytes) throws(HostError) in
                    try hasher.update(UnsafeBufferPointer(rebasing: bytes[..<count]))
                }
            }
        }
    }
}
