import ApsuleKit
import CryptoPlugin
import TestHost
import Testing

@Suite struct JSONWebTokenTests {
    let host: TestHost
    init() throws { host = try TestHost("crypto", CryptoPlugin.entry) }

    static let header = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let signature = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    /// RFC 7515 appendix A.1, whose signature is our HMAC.
    @Test func readsTheStandardsExample() async throws {
        let token = "\(Self.header).\(Self.payload).\(Self.signature)"
        #expect(
            try await host.call("jwtDecode", ["token": .string(token)]) == [
                "header": ["typ": "JWT", "alg": "HS256"],
                "payload": ["iss": "joe", "exp": 1_300_819_380, "http://example.com/is_root": true],
                "signature": .string(Self.signature), "verified": false,
            ])
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ+EstJQLr/T+1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow=="
        let arguments: JSON = [
            "text": .string("\(Self.header).\(Self.payload)"), "keyBase64": .string(key), "encoding": "bytes",
        ]
        let digest = try await host.start("hmac", arguments).answer().blobs[0]
        #expect(Base64.encode(digest, url: true) == Self.signature)
    }

    /// Appendix A.5.
    @Test func readsAnUnsecuredToken() async throws {
        let token = try await host.call("jwtDecode", ["token": .string("eyJhbGciOiJub25lIn0.\(Self.payload).")])
        #expect(token["signature"] == "" && token["verified"] == false && token["header"] == ["alg": "none"])
    }

    @Test func numbersStayExact() async throws {
        let payload = Base64.encode(#"{"n":9007199254740993,"n2":-9223372036854775808}"#.utf8, url: true)
        let token = try await host.call("jwtDecode", ["token": .string("\(Self.header).\(payload).")])
        #expect(token["payload"] == ["n": 9_007_199_254_740_993, "n2": .int(.min)])
    }

    @Test func aPayloadForgesNoBinaryData() async throws {
        let payload = Base64.encode(#"{"a":[{"$blob":0}],"$$b":1,"b$":2}"#.utf8, url: true)
        let token = try await host.call("jwtDecode", ["token": .string("\(Self.header).\(payload).")])
        #expect(token["payload"] == ["a": [["$$blob": 0]], "$$$b": 1, "b$": 2])
    }

    @Test(arguments: [
        ("", "token"), ("a.b", "token"), ("a.b.c.d.e", "token"), ("..", "header"),
        ("\(header).\(payload).a", "signature"), ("\(header).\(payload).ab=", "signature"), ("e30.e30.+/", "signature"),
        ("e30=.e30.", "header"), ("e30.W10.", "payload"), ("e30.bm8.", "payload"), ("e30. e30.", "payload"),
        ("e30..", "payload"), ("Im5vIg.e30.", "header"), ("e30.eyJhIjoi_yJ9.", "payload"),
    ])
    func whatIsNoTokenIsSaidPreciselyWhere(_ token: String, _ part: String) async throws {
        let error = await failure { try await host.call("jwtDecode", ["token": .string(token)]) }
        #expect(error?.code == "crypto.invalid_jwt")
        #expect(error?.details["part"] == .string(part))
        #expect(error.map { token.isEmpty || !$0.message.contains(token) } == true)
    }
}
