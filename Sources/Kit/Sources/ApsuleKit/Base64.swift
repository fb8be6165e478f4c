/// Standard Base64 with padding (RFC 4648 section 4), as JSON carries binary data.
public enum Base64 {
    private static let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlAlphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xff, count: 256)
        for (index, byte) in alphabet.enumerated() { table[Int(byte)] = UInt8(index) }
        table[Int(UInt8(ascii: "-"))] = 62
        table[Int(UInt8(ascii: "_"))] = 63
        return table
    }()

    /// - Parameter url: the URL-safe alphabet without padding (section 5).
    public static func encode(_ bytes: some Collection<UInt8>, url: Bool = false) -> String {
        let alphabet = url ? urlAlphabet : alphabet
        let input = Array(bytes)
        return String(unsafeUninitializedCapacity: (input.count + 2) / 3 * 4) { output in
            var written = 0
            for start in stride(from: 0, to: input.count, by: 3) {
                let count = min(3, input.count - start)
                var group: UInt32 = 0
                for offset in 0..<3 { group = group << 8 | (offset < count ? UInt32(input[start + offset]) : 0) }
                for position in 0...3 where position <= count {
                    output[written] = alphabet[Int(group >> UInt32(18 - 6 * position) & 63)]
                    written += 1
                }
                if !url { for _ in count..<3 { output[written] = UInt8(ascii: "="); written += 1 } }
            }
            return written
        }
    }

    /// The bytes, or nil for what is not Base64: both alphabets, padding optional, no white space, no stray bits.
    public static func decode(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        if digits.count % 4 == 0 {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var group: UInt32 = 0
        var bits = 0
        for digit in digits {
            let value = values[Int(digit)]
            guard value != 0xff else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        guard group & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return bytes
    }
}
