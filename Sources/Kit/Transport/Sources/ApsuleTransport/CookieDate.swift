internal import Glibc

/// Dates as servers write them.
///
/// Source: <https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.1.1>
enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Milliseconds since 1970, or nil for what is no date.
    static func milliseconds(_ text: String) -> Int64? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = clock(token) {
                time = found
            } else if day == nil, let number = number(token, 1...2) {
                day = number
            } else if month == nil,
                let index = months.firstIndex(where: { token.prefix(3).elementsEqual($0.utf8, by: same) })
            {
                month = index
            } else if year == nil, let number = number(token, 2...4) {
                year = number
            }
        }
        guard var year, let month, let day, let time else { return nil }
        if 70...99 ~= year { year += 1900 }
        if 0...69 ~= year { year += 2000 }
        guard year >= 1601, 1...31 ~= day, time.hour <= 23, time.minute <= 59, time.second <= 59 else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(year - 1900), Int32(month), Int32(day))
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (Int32(time.hour), Int32(time.minute), Int32(time.second))
        let seconds = timegm(&parts)
        // A day that the month does not have would be one of the next.
        guard parts.tm_mday == Int32(day) else { return nil }
        return Int64(seconds) * 1000
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        byte == 0x09 || 0x20...0x2f ~= byte || 0x3b...0x40 ~= byte || 0x5b...0x60 ~= byte || 0x7b...0x7e ~= byte
    }

    private static func same(_ byte: UInt8, _ lowercase: UInt8) -> Bool { byte | 0x20 == lowercase }

    /// So many digits, behind which anything but a digit may stand.
    private static func number(_ token: Substring.UTF8View.SubSequence, _ count: ClosedRange<Int>) -> Int? {
        let digits = token.prefix { $0 &- 48 < 10 }
        guard count ~= digits.count else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    }

    private static func clock(_ token: Substring.UTF8View.SubSequence) -> (hour: Int, minute: Int, second: Int)? {
        let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, let hour = exact(fields[0]), let minute = exact(fields[1]),
            let second = number(fields[2], 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func exact(_ token: Substring.UTF8View.SubSequence) -> Int? {
        token.allSatisfy { $0 &- 48 < 10 } ? number(token, 1...2) : nil
    }
}
