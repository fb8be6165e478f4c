extension JSON {
    /// Appends the value as compact JSON.
    ///
    /// A double without a fraction is written as an integer up to ±2^53 (as in JavaScript), `-0` as `-0`. NaN and the
    /// infinities, which JSON cannot say, are written as null: refuse them before, where that matters.
    public func write(into bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
        case .int(let value): JSON.write(value, into: &bytes)
        case .double(let value): JSON.write(value, into: &bytes)
        case .string(let value): JSON.write(value, into: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for index in elements.indices {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                elements[index].write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for index in members.indices {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSON.write(members[index].key, into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                members[index].value.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// The value as compact JSON in UTF-8.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        write(into: &bytes)
        return bytes
    }

    /// The value as compact JSON.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value over several lines; empty arrays and objects stay on one.
    public func pretty(indent: Int = 2) -> String {
        var bytes: [UInt8] = []
        writePretty(into: &bytes, indent: indent, level: 0)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func writePretty(into bytes: inout [UInt8], indent: Int, level: Int) {
        func newLine(_ level: Int) {
            bytes.append(UInt8(ascii: "\n"))
            bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent * level))
        }
        switch self {
        case .array(let elements) where !elements.isEmpty:
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(level + 1)
                element.writePretty(into: &bytes, indent: indent, level: level + 1)
            }
            newLine(level)
            bytes.append(UInt8(ascii: "]"))
        case .object(let members) where !members.isEmpty:
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(level + 1)
                JSON.write(member.key, into: &bytes)
                bytes.append(contentsOf: [UInt8(ascii: ":"), UInt8(ascii: " ")])
                member.value.writePretty(into: &bytes, indent: indent, level: level + 1)
            }
            newLine(level)
            bytes.append(UInt8(ascii: "}"))
        default: write(into: &bytes)
        }
    }
}

// MARK: - Parts

extension JSON {
    static func write(_ value: Int64, into bytes: inout [UInt8]) {
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        if rest < 10 { return bytes.append(UInt8(ascii: "0") + UInt8(rest)) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var first = 20
            while rest > 0 {
                first -= 1
                digits[first] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
        }
    }

    private static func write(_ value: Double, into bytes: inout [UInt8]) {
        if value.magnitude < 0x1p53, let whole = Int64(exactly: value), whole != 0 || value.sign == .plus {
            write(whole, into: &bytes)
        } else if value.isFinite {
            bytes.append(contentsOf: value == 0 ? "-0".utf8 : value.description.utf8)
        } else {
            bytes.append(contentsOf: "null".utf8)
        }
    }

    static func write(_ string: String, into bytes: inout [UInt8]) {
        var string = string
        string.withUTF8 { source in
            bytes.append(UInt8(ascii: "\""))
            var done = 0
            var next = 0
            while next < source.count {
                next = plainEnd(of: source, from: next)
                guard next < source.count else { break }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: source[done..<next]))
                escape(source[next], into: &bytes)
                next += 1
                done = next
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: source[done...]))
            bytes.append(UInt8(ascii: "\""))
        }
    }

    /// The index of the first byte that needs an escape.
    @inline(__always)
    private static func plainEnd(of source: UnsafeBufferPointer<UInt8>, from first: Int) -> Int {
        var next = first
        let raw = UnsafeRawBufferPointer(source)
        while source.count - next >= 8 {
            let word = raw.loadUnaligned(fromByteOffset: next, as: UInt64.self)
            if JSONScanner.needsLook(word) { break }
            next += 8
        }
        while next < source.count {
            let byte = source[next]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            next += 1
        }
        return next
    }

    private static func escape(_ byte: UInt8, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            bytes.append(contentsOf: byte < 0x10 ? "u000".utf8 : "u001".utf8)
            let low = byte & 15
            bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        }
    }
}
