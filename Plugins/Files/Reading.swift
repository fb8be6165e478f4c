import ApsuleKit

extension FilesFamily {
    /// Reads a file, or a range of it.
    ///
    /// - Parameter call: `{path, offset?: byte, length?: byte, encoding?: "text" | "base64" | "bytes"}`.
    /// - Returns: `{text?, base64, size: byte}`, or the one form that `encoding` names beside `size`, which is the size of
    ///   the whole file. Without `encoding` the text is left out where the bytes are no UTF-8.
    /// - Throws: `files.too_large` where the answer would not fit, `files.not_utf8`, `files.not_a_file`, …
    func read(_ call: Call) throws -> Message {
        let path: String = try call["path"]
        let encoding: Encoding? = try call["encoding"]
        let offset = try call["offset"] ?? 0
        let file = try FileSource(call, path: path)
        let rest = max(0, file.size - offset)
        let count = min(try call["length"] ?? rest, rest)
        let limit = encoding == .bytes ? Self.greatestBlob : Self.greatestJSON
        guard count <= limit else { throw Self.tooLarge(path, file.size, limit) }
        let bytes = try file.read(count, at: offset)
        var message = Message(["size": .int(Int64(file.size))])
        if encoding == .bytes {
            message.json.set("bytes", message.attach(bytes))
            return message
        }
        if encoding != .base64 {
            if let text = String(validating: bytes, as: UTF8.self) {
                message.json.set("text", .string(text))
            } else if encoding == .text {
                throw HostError(
                    "files.not_utf8", "\(path): is no UTF-8 text", details: ["path": .string(path)])
            }
        }
        if encoding != .text { message.json.set("base64", .string(Base64.encode(bytes))) }
        // What a character needs in JSON is one byte or up to six.
        guard message.json.text.utf8.count <= Self.greatestJSON else {
            throw Self.tooLarge(path, file.size, Self.greatestJSON)
        }
        return message
    }

    enum Encoding: String, ArgumentValue, CaseIterable {
        case text, base64
        /// A `Uint8Array`.
        case bytes
    }

    /// What an answer takes as JSON, and beside it.
    private static let greatestJSON = 8 << 20
    private static let greatestBlob = 64 << 20

    private static func tooLarge(_ path: String, _ size: Int, _ limit: Int) -> HostError {
        HostError(
            "files.too_large", "\(path): does not fit into one answer, which takes \(limit) bytes",
            details: ["path": .string(path), "size": .int(Int64(size)), "limit": .int(Int64(limit))])
    }
}
