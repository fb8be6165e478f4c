internal import Glibc

/// An IPv4 or IPv6 address; one that only wraps the other is that one.
struct NetworkAddress: Sendable, Hashable {
    /// Four bytes, or sixteen.
    let bytes: [UInt8]

    var isV4: Bool { bytes.count == 4 }

    /// Four bytes, or sixteen; `::ffff:1.2.3.4` is 1.2.3.4, to which a socket connects.
    init?(bytes: [UInt8]) {
        switch bytes.count {
        case 4: self.bytes = bytes
        case 16: self.bytes = bytes.starts(with: Self.mapped) ? Array(bytes.suffix(4)) : bytes
        default: return nil
        }
    }

    /// The text form of IPv6, without brackets and zone.
    ///
    /// Source: <https://www.rfc-editor.org/rfc/rfc4291#section-2.2>
    init?(v6 text: String) {
        var address = in6_addr()
        // A C string: a NUL within would end it early.
        guard !text.utf8.contains(0), inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        self.init(bytes: withUnsafeBytes(of: &address) { Array($0) })
    }

    /// IPv4 in every form that resolvers take: one to four numbers, decimal, octal behind `0`, hexadecimal behind `0x`,
    /// of which the last fills what is left.
    ///
    /// Source: <https://url.spec.whatwg.org/#concept-ipv4-parser>
    init?(v4 text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 4 else { return nil }
        var value: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let number = Self.number(part) else { return nil }
            let isLast = index == parts.count - 1
            let width = isLast ? 8 * (4 - index) : 8
            guard number < 1 << UInt64(width) else { return nil }
            value = value << UInt64(width) | number
        }
        self.init(bytes: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
    }

    /// Whether a name must be an IPv4 address or nothing: its last part is a number.
    ///
    /// Source: <https://url.spec.whatwg.org/#ends-in-a-number-checker>
    static func looksLikeV4(_ host: String) -> Bool {
        let last = host.split(separator: ".", omittingEmptySubsequences: false).last ?? ""
        return !last.isEmpty && last.utf8.allSatisfy(isDigit) || number(last) != nil
    }

    private static func number(_ text: Substring) -> UInt64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ isDigit($0) || ($0 | 0x20) &- 97 < 26 }) else { return nil }
        if text.lowercased().hasPrefix("0x") {
            return text.utf8.count == 2 ? 0 : UInt64(text.dropFirst(2), radix: 16)
        }
        return UInt64(text, radix: text.utf8.count > 1 && text.hasPrefix("0") ? 8 : 10)
    }

    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

    /// `192.168.1.5`, or IPv6 without brackets.
    var text: String {
        if isV4 { return bytes.map(String.init).joined(separator: ".") }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            bytes.withUnsafeBytes {
                _ = inet_ntop(AF_INET6, $0.baseAddress, buffer.baseAddress, socklen_t(buffer.count))
            }
            return buffer.baseAddress.map { String(cString: $0) } ?? ""
        }
    }

    // MARK: - What kind of place it names

    enum Kind: Sendable { case global, local, loopback }

    /// Where the address leads.
    ///
    /// `global`: a place in the Internet. `loopback`: this machine. `local`: everything else, from private networks to
    /// addresses that nothing should answer at.
    ///
    /// Sources: <https://www.iana.org/assignments/iana-ipv4-special-registry/>,
    /// <https://www.iana.org/assignments/iana-ipv6-special-registry/>
    var kind: Kind {
        if let inner = wrapped { return inner.kind }
        let loopback = isV4 ? Self.loopbackV4 : Self.loopbackV6
        let local = isV4 ? Self.localV4 : Self.localV6
        if loopback.contains(where: { $0.holds(bytes) }) { return .loopback }
        return local.contains { $0.holds(bytes) } ? .local : .global
    }

    /// The IPv4 address that a translator or tunnel of this IPv6 address leads to.
    private var wrapped: NetworkAddress? {
        if Self.translated.holds(bytes) { return NetworkAddress(bytes: Array(bytes.suffix(4))) }
        if Self.sixToFour.holds(bytes) { return NetworkAddress(bytes: Array(bytes[2..<6])) }
        return nil
    }

    private struct Block: Sendable {
        let prefix: [UInt8]
        let bits: Int

        init(_ prefix: [UInt8], _ bits: Int) { (self.prefix, self.bits) = (prefix, bits) }

        func holds(_ bytes: [UInt8]) -> Bool {
            for (index, byte) in prefix.enumerated() {
                let mask = UInt8(truncatingIfNeeded: 0xff00 >> min(8, max(0, bits - 8 * index)))
                guard index < bytes.count, bytes[index] & mask == byte & mask else { return false }
            }
            return true
        }
    }

    private static let translated = Block([0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], 96)
    private static let sixToFour = Block([0x20, 0x02], 16)
    /// All of 0.0.0.0/8 too: Linux connects 0.0.0.0 to this machine.
    private static let loopbackV4 = [Block([127], 8), Block([0], 8)]
    private static let loopbackV6 = [Block([UInt8](repeating: 0, count: 15) + [1], 128), Block(zeros, 128)]
    private static let zeros = [UInt8](repeating: 0, count: 16)
    private static let localV4 = [
        Block([10], 8), Block([100, 64], 10), Block([169, 254], 16), Block([172, 16], 12), Block([192, 0, 0], 24),
        Block([192, 0, 2], 24), Block([192, 88, 99], 24), Block([192, 168], 16), Block([198, 18], 15),
        Block([198, 51, 100], 24), Block([203, 0, 113], 24), Block([224], 3),
    ]
    private static let localV6 = [
        // Everything outside 2000::/3 but what is translated, and what within it is no place in the Internet.
        Block([0x00], 3), Block([0x40], 2), Block([0x80], 1), Block([0x20, 0x01, 0x00], 23),
        Block([0x20, 0x01, 0x0d, 0xb8], 32), Block([0x3f, 0xff, 0x00], 20),
    ]
}
