public import ApsuleKit
internal import CCurl
internal import Glibc

/// What a request sends.
public enum HTTPBody: Sendable {
    case none
    case bytes([UInt8])
    case file(FileSource)
    case multipart([HTTPPart])
}

/// One part of `multipart/form-data`.
public struct HTTPPart: Sendable {
    public enum Content: Sendable {
        case bytes([UInt8])
        case file(FileSource)
    }

    public let name: String
    public let fileName: String?
    public let contentType: String?
    public let content: Content

    public init(name: String, fileName: String?, contentType: String?, content: Content) {
        (self.name, self.fileName, self.contentType, self.content) = (name, fileName, contentType, content)
    }
}

/// Hands out a body piece by piece, from any place: a redirect or a lost connection sends it again.
///
/// `@unchecked Sendable`: only the transfer thread reads, after it was handed over.
final class BodyReader: @unchecked Sendable {
    private enum Source {
        case bytes([UInt8])
        case file(FileSource)
    }

    private let source: Source
    let size: Int64
    private var offset: Int64 = 0

    init(_ bytes: [UInt8]) { (source, size) = (.bytes(bytes), Int64(bytes.count)) }
    init(_ file: FileSource) { (source, size) = (.file(file), Int64(file.size)) }

    /// - Returns: the bytes read, 0 at the end, nil where a file is shorter than it was.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = min(buffer.count, Int(size - offset))
        guard count > 0, let target = buffer.baseAddress else { return 0 }
        switch source {
        case .bytes(let bytes):
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[Int(offset)..<(Int(offset) + count)])) }
            offset += Int64(count)
            return count
        case .file(let file):
            let piece = UnsafeMutableRawBufferPointer(start: target, count: count)
            guard let got = try? file.read(into: piece, at: Int(offset)), got > 0 else { return nil }
            offset += Int64(got)
            return got
        }
    }

    func seek(to place: Int64) -> Bool {
        guard 0...size ~= place else { return false }
        offset = place
        return true
    }
}

/// libcurl's read callback: the user data is the `BodyReader`, which outlives the transfer.
func readBody(
    buffer: UnsafeMutablePointer<CChar>?, size: Int, count: Int, data: UnsafeMutableRawPointer?
) -> Int {
    guard let data, let buffer else { return Int(CURL_READFUNC_ABORT) }
    let reader = Unmanaged<BodyReader>.fromOpaque(data).takeUnretainedValue()
    return reader.read(into: .init(start: buffer, count: size * count)) ?? Int(CURL_READFUNC_ABORT)
}

/// libcurl's seek callback, as `readBody`.
func seekBody(data: UnsafeMutableRawPointer?, offset: curl_off_t, origin: Int32) -> Int32 {
    guard let data, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
    let reader = Unmanaged<BodyReader>.fromOpaque(data).takeUnretainedValue()
    return reader.seek(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}
