/// Steps over the tokens of a JSON text and checks them; `JSONParser` and `JSONValidator` decide what they become.
struct JSONScanner {
    let start: UnsafePointer<UInt8>
    let end: UnsafePointer<UInt8>
    var next: UnsafePointer<UInt8>

    /// nil: nothing to read.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return nil }
        (start, next, end) = (base, base, base + bytes.count)
    }

    /// A string between its quotes.
    struct Text {
        let bytes: UnsafeBufferPointer<UInt8>
        let hasEscapes: Bool, isASCII: Bool
    }

    @inline(never)
    func failure(_ message: StaticString) -> JSON.Failure {
        JSON.Failure(next < end ? "\(message)" : "unexpected end (\(message))", at: next - start)
    }

    @inline(never)
    func tooDeep(_ depth: Int) -> JSON.Failure {
        JSON.Failure("nested deeper than \(depth) levels", at: next - start, isTooDeep: true)
    }

    /// The next byte, 0 at the end: no token starts with it.
    @inline(__always)
    var peek: UInt8 { next < end ? next.pointee : 0 }

    @inline(__always)
    mutating func skipSpace() {
        while next < end, next.pointee <= 0x20 {
            switch next.pointee {
            case 0x20, 0x0A, 0x0D, 0x09: next += 1
            default: return
            }
        }
    }

    @inline(__always)
    mutating func literal(_ word: StaticString) throws(JSON.Failure) {
        let count = word.utf8CodeUnitCount
        guard end - next >= count else { throw failure("expected a value") }
        for index in 0..<count where next[index] != word.utf8Start[index] { throw failure("expected a value") }
        next += count
    }

    /// Steps over the colon between a key and its value.
    @inline(__always)
    mutating func colon() throws(JSON.Failure) {
        skipSpace()
        guard peek == UInt8(ascii: ":") else { throw failure("expected ':'") }
        next += 1
        skipSpace()
    }

    mutating func begin() throws(JSON.Failure) {
        skipSpace()
        if peek == 0xEF { throw failure("JSON starts without a byte order mark") }
    }

    /// Only spaces may follow the value.
    mutating func finish() throws(JSON.Failure) {
        skipSpace()
        guard next == end else { throw failure("expected the end after the value") }
    }

    // MARK: Strings

    /// Whether one of eight bytes is a quote, a backslash or a control byte.
    ///
    /// A borrow can only raise a false alarm above a true one; the bytes are then looked at one by one.
    @inline(__always)
    static func needsLook(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (0x22 &* ones)
        let slash = word ^ (0x5C &* ones)
        let control = (word &- 0x20 &* ones) & ~word
        return (((quote &- ones) & ~quote) | ((slash &- ones) & ~slash) | control) & (0x80 &* ones) != 0
    }

    /// Steps from the opening quote behind the closing one.
    ///
    /// Checks neither UTF-8 nor `\u` escapes.
    @inline(__always)
    mutating func string() throws(JSON.Failure) -> Text {
        next += 1
        let first = next
        var seen: UInt64 = 0
        var hasEscapes = false
        while true {
            while end - next >= 8 {
                let word = UnsafeRawPointer(next).loadUnaligned(as: UInt64.self)
                if Self.needsLook(word) { break }
                seen |= word
                next += 8
            }
            guard next < end else { throw failure("expected '\"'") }
            let byte = next.pointee
            if byte == UInt8(ascii: "\"") { break }
            if byte < 0x20 { throw failure("control characters in strings are written as escapes") }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                next += 1
                guard next < end else { throw failure("expected an escape") }
            }
            seen |= UInt64(next.pointee)
            next += 1
        }
        let bytes = UnsafeBufferPointer(start: first, count: next - first)
        next += 1
        return Text(bytes: bytes, hasEscapes: hasEscapes, isASCII: seen & 0x8080_8080_8080_8080 == 0)
    }
}
