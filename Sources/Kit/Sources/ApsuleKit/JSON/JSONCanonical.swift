extension JSON {
    /// One text for equal values: sorted keys, the last of duplicates, shortest numbers as JavaScript writes them.
    ///
    /// RFC 8785 but for integers beyond ±2^53, which keep all their digits. NaN and the infinities become null.
    public var canonical: String {
        var bytes: [UInt8] = []
        writeCanonical(into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func writeCanonical(into bytes: inout [UInt8]) {
        switch self {
        case .double(let value): JSON.writeCanonical(value, into: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for index in elements.indices {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                elements[index].writeCanonical(into: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            let sorted = JSON.sorted(members)
            for index in sorted.indices {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSON.write(sorted[index].key, into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                sorted[index].value.writeCanonical(into: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        default: write(into: &bytes)
        }
    }

    /// The members by the UTF-16 code units of their keys, each key once.
    private static func sorted(_ members: [Member]) -> [Member] {
        let order = members.indices.sorted { one, other in
            switch compare(members[one].key, members[other].key) {
            case 0: one < other
            case let sign: sign < 0
            }
        }
        var result: [Member] = []
        result.reserveCapacity(members.count)
        for index in order {
            if let last = result.last, same(last.key, members[index].key) { result.removeLast() }
            result.append(members[index])
        }
        return result
    }

    /// Negative, 0 or positive, as the UTF-16 code units of `one` are before, the same as or behind those of `other`.
    private static func compare(_ one: String, _ other: String) -> Int {
        var a = one.utf8.makeIterator()
        var b = other.utf8.makeIterator()
        while true {
            switch (a.next(), b.next()) {
            case (nil, nil): return 0
            case (nil, _): return -1
            case (_, nil): return 1
            case (let x?, let y?) where x != y:
                // Bytes sort as scalars do; UTF-16 has its surrogates (lead bytes from F0) before U+E000 (EE and EF).
                let isSwapped = min(x, y) >= 0xEE && (x >= 0xF0) != (y >= 0xF0)
                return (Int(x) - Int(y)) * (isSwapped ? -1 : 1)
            default: continue
            }
        }
    }

    /// Number::toString of ECMAScript.
    private static func writeCanonical(_ value: Double, into bytes: inout [UInt8]) {
        if value.magnitude < 0x1p63, let whole = Int64(exactly: value) { return write(whole, into: &bytes) }
        guard value.isFinite else { return JSON.null.write(into: &bytes) }
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        // The description has the shortest digits that read back as the value; only its layout differs.
        var digits: [UInt8] = []
        var point: Int?
        var exponent = 0
        var rest = Substring(value.magnitude.description)
        if let mark = rest.firstIndex(of: "e") {
            exponent = Int(rest[rest.index(after: mark)...]) ?? 0
            rest = rest[..<mark]
        }
        for byte in rest.utf8 {
            if byte == UInt8(ascii: ".") { point = digits.count } else { digits.append(byte) }
        }
        exponent += point ?? digits.count  // the value is 0.<digits> × 10^exponent
        let zeros = digits.prefix { $0 == UInt8(ascii: "0") }.count
        digits.removeFirst(zeros)
        exponent -= zeros
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        append(digits, exponent: exponent, to: &bytes)
    }

    private static func append(_ digits: [UInt8], exponent: Int, to bytes: inout [UInt8]) {
        let zero = UInt8(ascii: "0")
        switch exponent {
        case digits.count...21 where digits.count <= 21:
            bytes.append(contentsOf: digits)
            bytes.append(contentsOf: repeatElement(zero, count: exponent - digits.count))
        case 1...21:
            bytes.append(contentsOf: digits[..<exponent])
            bytes.append(UInt8(ascii: "."))
            bytes.append(contentsOf: digits[exponent...])
        case -5...0:
            bytes.append(contentsOf: "0.".utf8)
            bytes.append(contentsOf: repeatElement(zero, count: -exponent))
            bytes.append(contentsOf: digits)
        default:
            bytes.append(digits[0])
            if digits.count > 1 { bytes.append(UInt8(ascii: ".")) }
            bytes.append(contentsOf: digits[1...])
            bytes.append(contentsOf: exponent > 0 ? "e+".utf8 : "e".utf8)
            bytes.append(contentsOf: (exponent - 1).description.utf8)
        }
    }
}
