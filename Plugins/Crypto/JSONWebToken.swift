import ApsuleKit

extension CryptoFamily {
    /// Reads a JSON Web Token and verifies nothing.
    ///
    /// - Parameter call: `{token: string}`, the compact form of a signed or unsecured token.
    /// - Returns: `{header: object, payload: object, signature: string, verified: false}`.
    /// - Throws: `crypto.invalid_jwt {part, reason}`.
    /// - Source: RFC 7515 section 7.1 <https://www.rfc-editor.org/rfc/rfc7515#section-7.1>, RFC 7519
    func jwtDecode(_ call: Call) throws -> JSON {
        let token: String = try call["token"]
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            let reason =
                parts.count == 5
                ? "is encrypted (it has five parts)"
                : "has \(parts.count) parts, not header.payload.signature"
            throw Self.invalid("token", reason)
        }
        _ = try Self.bytes("signature", parts[2])
        return [
            "header": try Self.object("header", parts[0]),
            "payload": try Self.object("payload", parts[1]),
            "signature": .string(String(parts[2])),
            "verified": false,
        ]
    }

    private static func object(_ part: String, _ text: Substring) throws(HostError) -> JSON {
        let bytes = try bytes(part, text)
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch {
            throw invalid(part, "is no JSON (\(error.message) at byte \(error.offset))")
        }
        guard json.members != nil else { throw invalid(part, "is no JSON object but \(json.summary)") }
        return json.escaped
    }

    private static func bytes(_ part: String, _ text: Substring) throws(HostError) -> [UInt8] {
        guard !text.contains("=") else { throw invalid(part, "has padding, which a token leaves out") }
        do { return try Base64Text.decode(String(text), url: true) } catch {
            let reason = error.details["reason"]?.stringValue ?? error.message
            throw invalid(part, "is no Base64 for URLs (\(reason))")
        }
    }

    private static func invalid(_ part: String, _ reason: String) -> HostError {
        HostError(
            "crypto.invalid_jwt", "This is no JSON Web Token that can be read: the \(part) \(reason).",
            details: ["part": .string(part), "reason": .string(reason)])
    }
}
