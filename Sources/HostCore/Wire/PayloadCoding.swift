public import ApsuleKit

/// How a payload crosses: small pieces in the frame, large ones together in one sealed memory file, copied once.
public enum PayloadCoding {
    /// A piece above this goes into shared memory.
    public static let inlinePiece = 64 << 10
    private static let inlineTotal = 256 << 10
    private static let maximumJSON = 8 << 20
    private static let maximumBlobs = 256 << 20
    private static let maximumCount = 32 << 10

    /// Appends a payload; nil is told apart from the JSON null.
    ///
    /// - Throws: `host.payload_too_large`, `host.system_error`.
    public static func encode(
        _ payload: Payload?, into body: inout WireEncoder, files: inout [OwnedFile]
    ) throws(HostError) {
        body.put(payload != nil)
        guard let payload else { return }
        let sizes = [payload.json.count] + payload.blobs.map(\.count)
        try check("bytes of JSON", sizes[0], maximumJSON)
        try check("bytes of binary data", sizes.dropFirst().reduce(0, +), maximumBlobs)
        try check("blobs", payload.blobs.count, maximumCount)

        let outside = place(sizes)
        body.put(UInt32(payload.blobs.count))
        for (size, isOutside) in zip(sizes, outside) {
            body.put(UInt32(size))
            body.put(isOutside)
        }
        for index in sizes.indices where !outside[index] { payload.withPiece(index) { body.putRaw($0) } }
        let total = zip(sizes, outside).reduce(0) { $0 + ($1.1 ? $1.0 : 0) }
        guard total > 0 else { return }
        let memory = try SharedMemory.make(size: total) { put in
            for index in sizes.indices where outside[index] { payload.withPiece(index, put) }
        }
        files.append(memory)
    }

    /// - Throws: `host.wire_malformed`, `host.system_error`.
    public static func decode(
        _ body: inout WireDecoder, files: inout ArraySlice<OwnedFile>
    ) throws(HostError) -> Payload? {
        guard try body.flag() else { return nil }
        let count = Int(try body.number(UInt32.self))
        guard count <= maximumCount else { throw .malformed("\(count) blobs in one message") }
        var pieces: [Piece] = []
        for _ in 0...count { pieces.append(Piece(size: Int(try body.number(UInt32.self)), isOutside: try body.flag())) }
        let blobs = pieces.dropFirst().reduce(0) { $0 + $1.size }
        guard pieces[0].size <= maximumJSON, blobs <= maximumBlobs else {
            throw .malformed("a message over the limits")
        }

        let memory = try memory(for: pieces, &files)
        var offset = 0
        var payload = Payload(json: [])
        for (index, piece) in pieces.enumerated() {
            if let memory, piece.isOutside {
                let range = offset..<offset + piece.size
                offset += piece.size
                if index == 0 {
                    payload.json = Array(memory.bytes[range])
                } else {
                    payload.blobs.append(memory.blob(range))
                }
            } else {
                let bytes = try body.raw(piece.isOutside ? 0 : piece.size)
                if index == 0 { payload.json = Array(bytes) } else { payload.blobs.append(Blob(bytes)) }
            }
        }
        return payload
    }

    private struct Piece {
        let size: Int
        let isOutside: Bool
    }

    /// The memory that the pieces outside the frame fill to the last byte; nil where there are none.
    private static func memory(
        for pieces: [Piece], _ files: inout ArraySlice<OwnedFile>
    ) throws(HostError) -> SharedMemory? {
        let outside = pieces.reduce(0) { $0 + ($1.isOutside ? $1.size : 0) }
        guard outside > 0 else { return nil }
        guard let file = files.popFirst() else { throw .malformed("a message without its memory") }
        let memory = try SharedMemory(file)
        guard memory.bytes.count == outside else { throw .malformed("memory of another size than it said") }
        return memory
    }

    /// Which pieces leave the frame: large ones, and all that follow once the frame is full.
    private static func place(_ sizes: [Int]) -> [Bool] {
        var inline = 0
        return sizes.map { size in
            guard size <= inlinePiece, inline + size <= inlineTotal else { return true }
            inline += size
            return false
        }
    }

    private static func check(_ what: String, _ count: Int, _ limit: Int) throws(HostError) {
        guard count > limit else { return }
        throw HostError(
            "host.payload_too_large", "A message has \(count) \(what); the limit is \(limit).",
            details: ["limit": .int(Int64(limit)), "size": .int(Int64(count))])
    }
}

extension Payload {
    /// Piece 0 is the JSON, the others are the blobs.
    fileprivate func withPiece(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        if index == 0 { json.withUnsafeBytes(body) } else { blobs[index - 1].withBytes(body) }
    }
}
