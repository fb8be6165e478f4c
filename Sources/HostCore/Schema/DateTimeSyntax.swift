/// RFC 3339 (https://www.rfc-editor.org/rfc/rfc3339#section-5.6), the rule `date-time`.
enum DateTimeSyntax {
    static func isDateTime(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        // 2026-01-31T12:00:00 takes 19 bytes, an offset at least one.
        guard bytes.count >= 20, let year = number(bytes, 0, 4), bytes[4] == UInt8(ascii: "-"),
            let month = number(bytes, 5, 2), bytes[7] == UInt8(ascii: "-"), let day = number(bytes, 8, 2),
            bytes[10] | 0x20 == UInt8(ascii: "t"), let hour = number(bytes, 11, 2), bytes[13] == UInt8(ascii: ":"),
            let minute = number(bytes, 14, 2), bytes[16] == UInt8(ascii: ":"), let second = number(bytes, 17, 2),
            1...12 ~= month, 1...days(month, year) ~= day, hour < 24, minute < 60, second < 61
        else { return false }
        var next = 19
        if bytes[next] == UInt8(ascii: ".") {
            let digits = bytes[(next + 1)...].prefix(while: isDigit)
            guard !digits.isEmpty else { return false }
            next = digits.endIndex
        }
        guard let offset = offset(bytes[next...]) else { return false }
        guard second == 60 else { return true }
        // A leap second ends a day of UTC.
        return (hour * 60 + minute - offset + 2 * 1440) % 1440 == 1439
    }

    /// Minutes ahead of UTC.
    private static func offset(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        let text = UnsafeBufferPointer(rebasing: bytes)
        switch text.first {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"): return text.count == 1 ? 0 : nil
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            guard text.count == 6, let hour = number(text, 1, 2), text[3] == UInt8(ascii: ":"),
                let minute = number(text, 4, 2), hour < 24, minute < 60
            else { return nil }
            return (hour * 60 + minute) * (text[0] == UInt8(ascii: "-") ? -1 : 1)
        default: return nil
        }
    }

    private static func number(_ bytes: UnsafeBufferPointer<UInt8>, _ first: Int, _ count: Int) -> Int? {
        var value = 0
        for byte in bytes[first..<(first + count)] {
            guard isDigit(byte) else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return value
    }

    private static func days(_ month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
