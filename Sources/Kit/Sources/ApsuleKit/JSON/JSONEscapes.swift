extension JSONScanner {
    /// The string that a token spells.
    @inline(__always)
    func value(of text: Text) throws(JSON.Failure) -> String {
        if text.hasEscapes { return try unescaped(text) }
        if text.isASCII { return String(copying: unsafe UTF8Span(unchecked: text.bytes.span, isKnownASCII: true)) }
        do { return String(copying: try UTF8Span(validating: text.bytes.span)) } catch { throw badUTF8(text) }
    }

    /// Checks what `value(of:)` would refuse, and builds nothing.
    @inline(__always)
    func check(_ text: Text) throws(JSON.Failure) {
        if text.hasEscapes {
            var rest = text.bytes[...]
            while let slash = rest.firstIndex(of: UInt8(ascii: "\\")) {
                rest = rest[(slash + 1)...]
                _ = try escape(&rest, of: text)
            }
        }
        guard !text.isASCII else { return }
        do { _ = try UTF8Span(validating: text.bytes.span) } catch { throw badUTF8(text) }
    }

    @inline(never)
    private func unescaped(_ text: Text) throws(JSON.Failure) -> String {
        // What is spelled is never longer than its spelling.
        let result: Result<String?, JSON.Failure> = withUnsafeTemporaryAllocation(
            of: UInt8.self, capacity: text.bytes.count
        ) { out in
            var count = 0
            var rest = text.bytes[...]
            do throws(JSON.Failure) {
                while let slash = rest.firstIndex(of: UInt8(ascii: "\\")) {
                    count = out.suffix(from: count).update(fromContentsOf: rest[..<slash])
                    rest = rest[(slash + 1)...]
                    let scalar = try escape(&rest, of: text)
                    for unit in UTF8.encode(scalar).unsafelyUnwrapped {
                        out[count] = unit
                        count += 1
                    }
                }
            } catch {
                return .failure(error)
            }
            count = out.suffix(from: count).update(fromContentsOf: rest)
            let bytes = UnsafeBufferPointer(rebasing: out[..<count])
            do { return .success(String(copying: try UTF8Span(validating: bytes.span))) } catch { return .success(nil) }
        }
        guard let string = try result.get() else { throw badUTF8(text) }
        return string
    }

    /// What the escape behind a backslash stands for; takes it off `rest`.
    private func escape(
        _ rest: inout Slice<UnsafeBufferPointer<UInt8>>, of text: Text
    ) throws(JSON.Failure) -> Unicode.Scalar {
        switch rest.popFirst() {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw failure("unknown escape", at: rest.startIndex - 1, of: text)
        }
        let start = rest.startIndex - 2
        guard let first = hexadecimal(&rest) else {
            throw failure("\\u needs four hexadecimal digits", at: start, of: text)
        }
        if let scalar = Unicode.Scalar(first) { return scalar }
        // Half a character cannot be kept in UTF-8, and replacing it would change data unseen.
        guard first < 0xDC00, rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"),
            let second = hexadecimal(&rest), 0xDC00..<0xE000 ~= second,
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw failure("half of a surrogate pair stands alone", at: start, of: text) }
        return scalar
    }

    private func hexadecimal(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> UInt32? {
        var value: UInt32 = 0
        for _ in 0..<4 {
            switch rest.popFirst() {
            case .some(let byte) where byte &- 48 < 10: value = value << 4 | UInt32(byte - 48)
            case .some(let byte) where (byte | 0x20) &- 97 < 6: value = value << 4 | UInt32((byte | 0x20) - 87)
            default: return nil
            }
        }
        return value
    }

    private func failure(_ message: StaticString, at index: Int, of text: Text) -> JSON.Failure {
        JSON.Failure("\(message)", at: offset(of: text) + index)
    }

    @inline(never)
    private func badUTF8(_ text: Text) -> JSON.Failure {
        var index = 0
        do { _ = try UTF8Span(validating: text.bytes.span) } catch { index = error.byteOffsets.lowerBound }
        return failure("the string is not UTF-8", at: index, of: text)
    }

    private func offset(of text: Text) -> Int { text.bytes.baseAddress.map { $0 - start } ?? 0 }
}
