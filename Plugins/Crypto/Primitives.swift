import ApsuleKit

extension CryptoFamily {
    /// Makes a random UUID.
    ///
    /// - Parameter call: no arguments.
    /// - Returns: version 4 of RFC 9562, in lower case.
    func randomUUID(_ call: Call) throws -> JSON {
        var bytes = try OpenSSL.randomBytes(16)
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let digits = Encoding.hexadecimal(bytes)
        var groups: [Substring] = []
        var rest = digits[...]
        for length in [8, 4, 4, 4, 12] {
            groups.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return .string(groups.joined(separator: "-"))
    }

    /// Makes random bytes.
    ///
    /// - Parameter call: `{count: integer (1 to 1048576), encoding?: "base64" | "hex" | "bytes"}`.
    /// - Returns: the bytes in that encoding.
    func randomBytes(_ call: Call) throws -> Message {
        let encoding: Encoding = try call["encoding"] ?? .base64
        return try encoding.message(try OpenSSL.randomBytes(try call["count"]))
    }

    /// Hashes.
    ///
    /// - Parameter call: one of `{text}`, `{base64}`, `{path}`; `encoding?: "hex" | "base64" | "bytes"`.
    /// - Returns: the digest, 32 bytes.
    /// - Throws: `host.invalid_argument`, `crypto.<why the file cannot be read>`.
    /// - Source: FIPS 180-4 <https://doi.org/10.6028/NIST.FIPS.180-4>
    func sha256(_ call: Call) throws -> Message { try digest(call, .sha256) }

    /// Hashes as `sha256` does, to 64 bytes.
    func sha512(_ call: Call) throws -> Message { try digest(call, .sha512) }

    private func digest(_ call: Call, _ algorithm: Algorithm) throws -> Message {
        let encoding: Encoding = try call["encoding"] ?? .hex
        var digest = try Digest(algorithm)
        try Input(call).feed(&digest, call)
        return try encoding.message(try digest.finish())
    }

    /// Hashes with a key.
    ///
    /// - Parameter call: one of `{text}`, `{base64}`, `{path}`; one of `{key}` (text), `{keyBase64}`;
    ///   `algorithm?: "sha256" | "sha512" | "sha384" | "sha1"`, `encoding?: "hex" | "base64" | "bytes"`.
    /// - Returns: the digest.
    /// - Throws: `host.invalid_argument`, `crypto.<why the file cannot be read>`.
    /// - Source: RFC 2104 <https://www.rfc-editor.org/rfc/rfc2104>
    func hmac(_ call: Call) throws -> Message {
        let encoding: Encoding = try call["encoding"] ?? .hex
        let key = try Content(call.arguments, text: "key", base64: "keyBase64").bytes
        var digest = try KeyedDigest(try call["algorithm"] ?? .sha256, key: key)
        try Input(call).feed(&digest, call)
        return try encoding.message(try digest.finish())
    }
}
