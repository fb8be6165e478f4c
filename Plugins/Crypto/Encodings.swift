import ApsuleKit

extension CryptoFamily {
    /// What fits a message of the host, which carries 8 MiB of JSON.
    private static let greatestInput = 6_000_000

    /// Writes Base64.
    ///
    /// - Parameter call: one of `{text}`, `{base64}`; `url?: boolean` for the URL-safe alphabet without padding.
    /// - Returns: the text.
    /// - Throws: `host.invalid_argument`, `crypto.too_large`.
    /// - Source: RFC 4648 <https://www.rfc-editor.org/rfc/rfc4648>
    func base64Encode(_ call: Call) throws -> JSON {
        let bytes = try Content(call.arguments).bytes
        guard bytes.count <= Self.greatestInput else {
            throw HostError(
                "crypto.too_large", "\(bytes.count) bytes do not fit as Base64 in one answer; encode them in parts.",
                details: ["maximumBytes": .int(Int64(Self.greatestInput))])
        }
        return .string(Base64.encode(bytes, url: try call["url"] ?? false))
    }

    /// Reads Base64, strictly.
    ///
    /// - Parameter call: `{base64: string, encoding?: "text" | "hex" | "bytes", url?: boolean}`.
    /// - Returns: what it stands for, in that encoding.
    /// - Throws: `crypto.invalid_base64 {position, reason}`, `crypto.not_utf8`.
    func base64Decode(_ call: Call) throws -> Message {
        let text: String = try call["base64"]
        let encoding: Encoding = try call["encoding"] ?? .text
        return try encoding.message(try Base64Text.decode(text, url: try call["url"] ?? false))
    }

    /// Percent-encodes.
    ///
    /// - Parameter call: `{text: string, form?: boolean}`.
    /// - Returns: the text, all but `A-Z a-z 0-9 - . _ ~` as `%XX` of its UTF-8; with `form` a space as `+`.
    /// - Source: RFC 3986 section 2 <https://www.rfc-editor.org/rfc/rfc3986#section-2>
    func urlEncode(_ call: Call) throws -> JSON {
        let text: String = try call["text"]
        let isForm = try call["form"] ?? false
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 2)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            case UInt8(ascii: " ") where isForm: bytes.append(UInt8(ascii: "+"))
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return .string(String(decoding: bytes, as: UTF8.self))
    }

    /// Undoes percent-encoding; what is not encoded stays as it is.
    ///
    /// - Parameter call: `{text: string, form?: boolean}`.
    /// - Returns: the text.
    /// - Throws: `crypto.invalid_url_encoding {position}`, `crypto.not_utf8`.
    func urlDecode(_ call: Call) throws -> JSON {
        let text: String = try call["text"]
        let isForm = try call["form"] ?? false
        let input = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(input.count)
        var next = 0
        while next < input.count {
            if input[next] == UInt8(ascii: "%") {
                let digits = input[(next + 1)...].prefix(2).compactMap(Self.digit)
                guard digits.count == 2 else {
                    let position = text.utf16Position(ofByte: next)
                    throw HostError(
                        "crypto.invalid_url_encoding", "At position \(position), % has no two hexadecimal digits.",
                        details: ["position": .int(Int64(position))])
                }
                bytes.append(digits[0] << 4 | digits[1])
                next += 3
            } else {
                bytes.append(input[next] == UInt8(ascii: "+") && isForm ? UInt8(ascii: " ") : input[next])
                next += 1
            }
        }
        return .string(try Encoding.text(bytes))
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Base64 that is refused for anything that RFC 4648 does not say, with the position and the reason.
enum Base64Text {
    static func decode(_ text: String, url: Bool) throws(HostError) -> [UInt8] {
        if let fault = fault(Array(text.utf8), url: url) {
            let position = text.utf16Position(ofByte: fault.offset)
            throw HostError(
                "crypto.invalid_base64", "At position \(position): \(fault.reason).",
                details: ["position": .int(Int64(position)), "reason": .string(fault.reason)])
        }
        guard let bytes = Base64.decode(text) else {
            throw HostError(
                "crypto.invalid_base64", "The last digit says more than whole bytes.",
                details: ["position": .int(Int64(text.utf16.count - 1)), "reason": "stray bits in the last digit"])
        }
        return bytes
    }

    private static func fault(_ bytes: [UInt8], url: Bool) -> (offset: Int, reason: String)? {
        let digits = bytes.prefix { isDigit($0, url: url) }.count
        let padding = bytes[digits...].prefix { $0 == UInt8(ascii: "=") }.count
        let end = digits + padding
        if end < bytes.count, padding == 0 { return (end, "not a digit of \(url ? "URL-safe " : "")Base64") }
        if end < bytes.count { return (end, "something follows the padding") }
        if digits % 4 == 1 { return (digits - 1, "one digit is left over") }
        let wanted = (4 - digits % 4) % 4
        if padding > wanted { return (digits + wanted, "too much padding") }
        if padding < wanted, !(url && padding == 0) { return (end, "\(wanted - padding) = missing") }
        return nil
    }

    private static func isDigit(_ byte: UInt8, url: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "+"), UInt8(ascii: "/"): !url
        case UInt8(ascii: "-"), UInt8(ascii: "_"): url
        default: false
        }
    }
}

extension String {
    /// The position, as JavaScript counts, of the character that has the byte at `offset`.
    func utf16Position(ofByte offset: Int) -> Int {
        utf16.distance(from: startIndex, to: utf8.index(startIndex, offsetBy: offset))
    }
}
