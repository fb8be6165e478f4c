public import ApsuleKit

/// One message on a channel: a kind, bytes, and open files that travel with it.
public struct Frame: Sendable {
    public var kind: UInt8
    public var body: [UInt8]
    public var files: [OwnedFile]

    public init(_ kind: UInt8, _ body: [UInt8] = [], files: [OwnedFile] = []) {
        self.kind = kind
        self.body = body
        self.files = files
    }
}

/// Cuts a stream of bytes into frames: `u32` length of the body, `u8` kind, `u8` number of files, body; little-endian.
///
/// Pure: what it is fed may come from anybody, and is answered with frames or an error.
public struct FrameReader: Sendable {
    public static let headerSize = 6
    /// A sender puts more than this into shared memory, so a longer body is no honest one.
    public static let maximumBody = 1 << 20
    public static let maximumFiles = 4
    private static let chunk = 64 << 10

    /// A frame whose files are still to be attached.
    public struct Piece: Sendable, Equatable {
        public let kind: UInt8
        public let fileCount: Int
        public let body: [UInt8]
    }

    private var buffer = [UInt8](repeating: 0, count: Self.chunk)
    private var start = 0
    private var end = 0

    public init() {}

    /// Whether the bytes so far end between two frames.
    public var isAtBoundary: Bool { start == end }

    /// Lets `read` put bytes behind those that wait; it gives their number.
    public mutating func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        if start == end { (start, end) = (0, 0) }
        if buffer.count - end < Self.chunk / 2 { makeRoom() }
        let position = end
        let count = buffer.withUnsafeMutableBytes { read(UnsafeMutableRawBufferPointer(rebasing: $0[position...])) }
        if count > 0 { end += min(count, buffer.count - position) }
        return count
    }

    public mutating func append(_ bytes: some Collection<UInt8>) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = fill { room in
                let part = rest.prefix(room.count)
                room.copyBytes(from: part)
                return part.count
            }
            rest = rest.dropFirst(count)
        }
    }

    /// The next whole frame; nil where more bytes are needed.
    ///
    /// - Throws: `host.wire_malformed`.
    public mutating func next() throws(HostError) -> Piece? {
        guard end - start >= Self.headerSize else { return nil }
        let length = (0..<4).reduce(0) { $0 | Int(buffer[start + $1]) << (8 * $1) }
        let fileCount = Int(buffer[start + 5])
        guard length <= Self.maximumBody else { throw .malformed("a body of \(length) bytes") }
        guard fileCount <= Self.maximumFiles else { throw .malformed("\(fileCount) files in one frame") }
        guard end - start >= Self.headerSize + length else { return nil }
        let kind = buffer[start + 4]
        let first = start + Self.headerSize
        start = first + length
        return Piece(kind: kind, fileCount: fileCount, body: Array(buffer[first..<start]))
    }

    public static func header(kind: UInt8, bodySize: Int, fileCount: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: bodySize >> (8 * $0)) } + [kind, UInt8(fileCount)]
    }

    /// Moves what waits to the front, and grows only for a frame that is larger than the buffer.
    private mutating func makeRoom() {
        if start > 0 {
            let waiting = start..<end
            buffer.withUnsafeMutableBytes { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[waiting])) }
            (start, end) = (0, waiting.count)
        }
        if buffer.count - end < Self.chunk / 2 {
            buffer.append(contentsOf: repeatElement(0, count: buffer.count))
        }
    }
}

extension HostError {
    /// What a peer sent is not what the wire's rules allow.
    static func malformed(_ what: String) -> HostError {
        HostError("host.wire_malformed", "The other process sent \(what).", details: ["reason": .string(what)])
    }
}
