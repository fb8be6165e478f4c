/// One JSON value and the binary data beside it, to which the JSON refers as `{"$blob": index}`.
///
/// What an operation returns and what an event carries. Most are plain JSON: `return ["value": 1]`.
public struct Message: Sendable {
    public var json: JSON
    public var blobs: [[UInt8]]

    public init(_ json: JSON = .null, blobs: [[UInt8]] = []) {
        self.json = json
        self.blobs = blobs
    }

    /// Attaches binary data and gives the JSON that stands for it; it arrives in JavaScript as a `Uint8Array`.
    public mutating func attach(_ bytes: [UInt8]) -> JSON {
        blobs.append(bytes)
        return .object([.init("$blob", .int(Int64(blobs.count - 1)))])
    }
}

/// What an operation may return: `JSON`, a `Message` with binary data, or any value with a JSON form.
public protocol MessageConvertible: Sendable {
    var message: Message { get }
}

extension Message: MessageConvertible {
    public var message: Message { self }
}

extension JSON: MessageConvertible {
    public var message: Message { Message(self) }
}
