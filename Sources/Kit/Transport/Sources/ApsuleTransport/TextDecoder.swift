internal import Glibc

/// Bytes of some charset as text; what is none of it becomes U+FFFD, as browsers do it.
///
/// Source: <https://man7.org/linux/man-pages/man3/iconv.3.html>
enum TextDecoder {
    static func decode(_ bytes: [UInt8], charset: String?) -> String {
        // A byte order mark wins over what the server says.
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { return String(decoding: bytes.dropFirst(3), as: UTF8.self) }
        if bytes.starts(with: [0xff, 0xfe]) { return convert(Array(bytes.dropFirst(2)), "UTF-16LE") ?? utf8(bytes) }
        if bytes.starts(with: [0xfe, 0xff]) { return convert(Array(bytes.dropFirst(2)), "UTF-16BE") ?? utf8(bytes) }
        guard let name = charset?.lowercased(), !["utf-8", "utf8", "us-ascii", "ascii"].contains(name) else {
            return utf8(bytes)
        }
        // What calls itself Latin 1 in the web is Windows 1252.
        let isLatin = ["iso-8859-1", "latin1", "l1", "iso8859-1", "cp819"].contains(name)
        return convert(bytes, isLatin ? "CP1252" : name) ?? utf8(bytes)
    }

    private static func utf8(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Nil for a charset that is not known.
    private static func convert(_ bytes: [UInt8], _ charset: String) -> String? {
        // A slash would be one of iconv's own options.
        guard charset.utf8.allSatisfy({ $0 != 0x2f && $0 != 0 }) else { return nil }
        let converter = iconv_open("UTF-8", charset)
        guard converter != iconv_t(bitPattern: -1) else { return nil }
        defer { iconv_close(converter) }
        var text: [UInt8] = []
        var input = bytes.map { CChar(bitPattern: $0) }
        var output = [CChar](repeating: 0, count: 16 * 1024)
        input.withUnsafeMutableBufferPointer { input in
            var next = input.baseAddress
            var left = input.count
            while left > 0 {
                let (written, problem) = output.withUnsafeMutableBufferPointer { output in
                    var place = output.baseAddress
                    var room = output.count
                    let failed = iconv(converter, &next, &left, &place, &room) == Int(bitPattern: UInt.max)
                    return (output.count - room, failed ? errno : 0)
                }
                text += output.prefix(written).map { UInt8(bitPattern: $0) }
                if problem == EILSEQ || problem == EINVAL {
                    text += Array("\u{fffd}".utf8)
                    next = next.map { $0 + 1 }
                    left -= 1
                }
            }
        }
        return utf8(text)
    }
}
