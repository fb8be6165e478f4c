/// A set of Unicode scalars.
struct Scalars: Sendable {
    /// One bit for each ASCII character.
    private var ascii: (low: UInt64, high: UInt64) = (0, 0)
    /// The others, sorted.
    private var ranges: [ClosedRange<UInt32>] = []

    init(_ ranges: [ClosedRange<UInt32>], inverted: Bool = false) {
        let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
        let final = inverted ? Self.inverted(sorted) : sorted
        for range in final {
            if range.lowerBound < 128 {
                for value in range.lowerBound...min(range.upperBound, 127) {
                    if value < 64 { ascii.low |= 1 << UInt64(value) } else { ascii.high |= 1 << UInt64(value - 64) }
                }
            }
            if range.upperBound >= 128 { self.ranges.append(max(range.lowerBound, 128)...range.upperBound) }
        }
    }

    @inline(__always)
    func contains(_ scalar: Unicode.Scalar) -> Bool {
        let value = scalar.value
        if value < 64 { return ascii.low >> UInt64(value) & 1 == 1 }
        if value < 128 { return ascii.high >> UInt64(value - 64) & 1 == 1 }
        return ranges.contains { $0.contains(value) }
    }

    static func inverted(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var gaps: [ClosedRange<UInt32>] = []
        var next: UInt32 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { gaps.append(next...(range.lowerBound - 1)) }
            next = max(next, range.upperBound + 1)
        }
        if next <= last { gaps.append(next...last) }
        return gaps
    }

    static let last: UInt32 = 0x10FFFF
    static let digits: [ClosedRange<UInt32>] = [0x30...0x39]
    static let words: [ClosedRange<UInt32>] = [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A]
    static let lineEnds: [ClosedRange<UInt32>] = [0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029]
    /// WhiteSpace and LineTerminator of ECMAScript.
    static let spaces: [ClosedRange<UInt32>] = [
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F,
        0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ]

    static func isWord(_ scalar: Unicode.Scalar?) -> Bool {
        guard let scalar else { return false }
        return words.contains { $0.contains(scalar.value) }
    }
}
