extension JSONScanner {
    /// Reads a number: an integer where 64 bits hold it exactly and it is written as one, else the nearest double.
    @inline(__always)
    mutating func number() throws(JSON.Failure) -> JSON {
        let first = next
        let isNegative = peek == UInt8(ascii: "-")
        if isNegative { next += 1 }
        var digits = Digits()
        guard isDigit else {
            next = first
            throw failure("expected a value")
        }
        if next.pointee == UInt8(ascii: "0") {
            next += 1
            if isDigit { throw failure("a number has no leading zeros") }
        } else {
            while isDigit { take(&digits) }
        }
        guard peek == UInt8(ascii: ".") || peek | 0x20 == UInt8(ascii: "e") else {
            return try integer(digits, isNegative: isNegative, from: first)
        }
        return try fraction(digits, isNegative: isNegative, from: first)
    }

    /// Up to 19 digits, which an unsigned word always holds.
    private struct Digits {
        var value: UInt64 = 0
        var count = 0
        /// More digits were read than `value` holds.
        var isCut: Bool { count > 19 }
    }

    @inline(__always)
    private var isDigit: Bool { next < end && next.pointee &- UInt8(ascii: "0") < 10 }

    @inline(__always)
    private mutating func take(_ digits: inout Digits) {
        if digits.count < 19 { digits.value = digits.value &* 10 &+ UInt64(next.pointee &- UInt8(ascii: "0")) }
        digits.count += 1
        next += 1
    }

    @inline(__always)
    private func integer(
        _ digits: Digits, isNegative: Bool, from first: UnsafePointer<UInt8>
    ) throws(JSON.Failure) -> JSON {
        if digits.isCut { return .double(try nearest(from: first)) }
        let limit: UInt64 = 1 << 63
        if digits.value < limit {
            let value = Int64(digits.value)
            if !isNegative { return .int(value) }
            return value == 0 ? .double(-0.0) : .int(-value)
        }
        return isNegative && digits.value == limit ? .int(.min) : .double(try nearest(from: first))
    }

    @inline(never)
    private mutating func fraction(
        _ whole: Digits, isNegative: Bool, from first: UnsafePointer<UInt8>
    ) throws(JSON.Failure) -> JSON {
        var digits = whole
        var scale = 0
        if peek == UInt8(ascii: ".") {
            next += 1
            guard isDigit else { throw failure("expected a digit") }
            let point = next
            while isDigit { take(&digits) }
            scale = point - next
        }
        if peek | 0x20 == UInt8(ascii: "e") {
            next += 1
            let isDown = peek == UInt8(ascii: "-")
            if isDown || peek == UInt8(ascii: "+") { next += 1 }
            guard isDigit else { throw failure("expected a digit") }
            var exponent = 0
            while isDigit {
                if exponent < 100_000 { exponent = exponent * 10 + Int(next.pointee &- UInt8(ascii: "0")) }
                next += 1
            }
            scale += isDown ? -exponent : exponent
        }
        // Both factors are exact, so the one rounding of the product or quotient gives the nearest double.
        if !digits.isCut, digits.value <= 1 << 53, scale.magnitude < Self.powers.count {
            let power = Self.powers[Int(scale.magnitude)]
            let value = scale < 0 ? Double(digits.value) / power : Double(digits.value) * power
            return .double(isNegative ? -value : value)
        }
        return .double(try nearest(from: first))
    }

    /// The nearest double of what was read since `first`.
    @inline(never)
    private func nearest(from first: UnsafePointer<UInt8>) throws(JSON.Failure) -> Double {
        let text = String(decoding: UnsafeBufferPointer(start: first, count: next - first), as: UTF8.self)
        guard let value = Double(text), value.isFinite else {
            throw JSON.Failure("the number is too large", at: first - start)
        }
        return value
    }

    /// The powers of ten that a double holds exactly.
    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20,
        1e21, 1e22,
    ]
}
