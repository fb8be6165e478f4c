import ApsuleKit
import CryptoPlugin
import TestHost
import Testing

@Suite struct EncodingTests {
    let host: TestHost
    init() throws { host = try TestHost("crypto", CryptoPlugin.entry) }

    // MARK: Base64

    /// RFC 4648 section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"), ("ä€😀\0", "w6Tigqzwn5iAAA=="),
    ])
    func base64(_ text: String, _ encoded: String) async throws {
        #expect(try await host.call("base64Encode", ["text": .string(text)]) == .string(encoded))
        #expect(try await host.call("base64Decode", ["base64": .string(encoded)]) == .string(text))
    }

    @Test func theAlphabetForURLs() async throws {
        let bytes: [UInt8] = [0xfb, 0xff, 0xbf, 0xff]
        let blob: JSON = ["base64": ["$blob": 0]]
        #expect(try await host.call("base64Encode", blob, blobs: [bytes]) == "+/+//w==")
        #expect(try await host.call("base64Encode", ["base64": "+/+//w==", "url": true]) == "-_-__w")
        for text in ["-_-__w", "-_-__w=="] {
            let arguments: JSON = ["base64": .string(text), "url": true, "encoding": "bytes"]
            #expect(try await host.start("base64Decode", arguments).answer().blobs == [bytes])
        }
        #expect(try await host.call("base64Decode", ["base64": "+/+//w==", "encoding": "hex"]) == "fbffbfff")
    }

    @Test(arguments: [
        ("Zg=", 3), ("Zg", 2), ("Zm9vY", 4), ("Zm9v\n", 4), (" Zm9v", 0), ("Zm-v", 2), ("Zg==Zg==", 4), ("Zm9v=", 4),
        ("Zg===", 4), ("Zh==", 3), ("Zm9=", 3), ("=", 0), ("Zm9vä", 4), ("Z😀==", 1), ("Zg=a", 3),
    ])
    func whatIsNoBase64IsRefusedWithItsPosition(_ text: String, _ position: Int64) async throws {
        let error = await failure { try await host.call("base64Decode", ["base64": .string(text)]) }
        #expect(error?.code == "crypto.invalid_base64")
        #expect(error?.details["position"] == .int(position))
    }

    @Test(arguments: [("Zm+v", 2), ("Zg=", 3), ("Z", 0), ("Zg===", 4)])
    func whatIsNoBase64ForURLsIsRefusedWithItsPosition(_ text: String, _ position: Int64) async throws {
        let error = await failure { try await host.call("base64Decode", ["base64": .string(text), "url": true]) }
        #expect(error?.code == "crypto.invalid_base64")
        #expect(error?.details["position"] == .int(position))
    }

    @Test func bytesThatAreNoTextAreSaidToBe() async throws {
        for base64 in ["/w==", "7aCA", "wIA="] {
            #expect(
                await failure { try await host.call("base64Decode", ["base64": .string(base64)]) }?.code
                    == "crypto.not_utf8")
        }
    }

    @Test func whatNoAnswerCanCarryIsRefused() async throws {
        let blob: JSON = ["base64": ["$blob": 0]]
        let error = await failure {
            try await host.call("base64Encode", blob, blobs: [Array(repeating: 0, count: 6_000_001)])
        }
        #expect(error?.code == "crypto.too_large")
        let largest = try await host.call("base64Encode", blob, blobs: [Array(repeating: 0, count: 6_000_000)])
        #expect(largest.stringValue?.utf8.count == 8_000_000)
    }

    // MARK: URLs

    @Test(arguments: [
        ("", ""), ("AZaz09-._~", "AZaz09-._~"), ("a b+c&d=e/f?", "a%20b%2Bc%26d%3De%2Ff%3F"),
        ("ä€😀", "%C3%A4%E2%82%AC%F0%9F%98%80"),
        ("!'()*", "%21%27%28%29%2A"), ("100%\0", "100%25%00"),
    ])
    func percentEncoding(_ text: String, _ encoded: String) async throws {
        #expect(try await host.call("urlEncode", ["text": .string(text)]) == .string(encoded))
        #expect(try await host.call("urlDecode", ["text": .string(encoded)]) == .string(text))
        #expect(try await host.call("urlDecode", ["text": .string(encoded.lowercased())]) == .string(text.lowercased()))
    }

    @Test func formsHavePlus() async throws {
        #expect(try await host.call("urlEncode", ["text": "a b+c", "form": true]) == "a+b%2Bc")
        #expect(try await host.call("urlDecode", ["text": "a+b%2Bc", "form": true]) == "a b+c")
        #expect(try await host.call("urlDecode", ["text": "a+b%2Bc ä"]) == "a+b+c ä")
    }

    @Test(arguments: [("%", 0), ("a%2", 1), ("ab%zz", 2), ("😀%+1", 2), ("%20%%20", 3)])
    func aStrayPercentIsRefusedWithItsPosition(_ text: String, _ position: Int64) async throws {
        let error = await failure { try await host.call("urlDecode", ["text": .string(text)]) }
        #expect(error?.code == "crypto.invalid_url_encoding")
        #expect(error?.details["position"] == .int(position))
    }

    @Test(arguments: ["%FF", "%C3", "%ED%A0%80", "%C0%80"])
    func decodedBytesAreText(_ text: String) async throws {
        #expect(await failure { try await host.call("urlDecode", ["text": .string(text)]) }?.code == "crypto.not_utf8")
    }
}
