import Glibc

/// RFC 3986 (https://www.rfc-editor.org/rfc/rfc3986#appendix-A), the rule `URI`.
enum URISyntax {
    typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    static func isURI(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]) else { return false }
        var rest = bytes[(colon + 1)...]
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            guard consists(of: rest[(hash + 1)...], more: "/?:@") else { return false }
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            guard consists(of: rest[(mark + 1)...], more: "/?:@") else { return false }
            rest = rest[..<mark]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            guard isAuthority(rest[..<end]) else { return false }
            rest = rest[end...]
        }
        return consists(of: rest, more: "/:@")
    }

    private static func isScheme(_ bytes: Bytes) -> Bool {
        guard let first = bytes.first, isLetter(first) else { return false }
        return bytes.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
    }

    private static func isAuthority(_ bytes: Bytes) -> Bool {
        var host = bytes
        if let at = host.firstIndex(of: UInt8(ascii: "@")) {
            guard consists(of: host[..<at], more: ":") else { return false }
            host = host[(at + 1)...]
        }
        if host.first == UInt8(ascii: "[") {
            guard let end = host.firstIndex(of: UInt8(ascii: "]")), isLiteral(host[(host.startIndex + 1)..<end]) else {
                return false
            }
            let port = host[(end + 1)...]
            return port.isEmpty || port.first == UInt8(ascii: ":") && port.dropFirst().allSatisfy(isDigit)
        }
        if let colon = host.firstIndex(of: UInt8(ascii: ":")) {
            guard host[(colon + 1)...].allSatisfy(isDigit) else { return false }
            host = host[..<colon]
        }
        return consists(of: host, more: "")
    }

    /// What stands in brackets: IPv6, or a later version behind `v`.
    private static func isLiteral(_ bytes: Bytes) -> Bool {
        if let first = bytes.first, first | 0x20 == UInt8(ascii: "v") {
            guard let dot = bytes.firstIndex(of: UInt8(ascii: ".")), dot > bytes.startIndex + 1 else { return false }
            let address = bytes[(dot + 1)...]
            return bytes[(bytes.startIndex + 1)..<dot].allSatisfy(isHexadecimal) && !address.isEmpty
                && !address.contains(UInt8(ascii: "%")) && consists(of: address, more: ":")
        }
        var address = in6_addr()
        // A C string: a NUL within would end it early.
        return !bytes.contains(0) && inet_pton(AF_INET6, String(decoding: bytes, as: UTF8.self), &address) == 1
    }

    /// Unreserved characters, sub-delimiters, `%` with two digits, and what `more` adds.
    private static func consists(of bytes: Bytes, more: StaticString) -> Bool {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                guard bytes.endIndex - index > 2, isHexadecimal(bytes[index + 1]), isHexadecimal(bytes[index + 2])
                else {
                    return false
                }
                index += 3
                continue
            }
            guard isLetter(byte) || isDigit(byte) || "-._~!$&'()*+,;=".utf8.contains(byte) || has(more, byte) else {
                return false
            }
            index += 1
        }
        return true
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    private static func has(_ set: StaticString, _ byte: UInt8) -> Bool {
        (0..<set.utf8CodeUnitCount).contains { set.utf8Start[$0] == byte }
    }
}
