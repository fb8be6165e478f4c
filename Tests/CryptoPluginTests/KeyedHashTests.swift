import ApsuleKit
import CryptoPlugin
import TestHost
import Testing

/// RFC 4231 and RFC 2202.
@Suite struct KeyedHashTests {
    let host: TestHost
    init() throws { host = try TestHost("crypto", CryptoPlugin.entry) }

    struct Vector: Sendable {
        let key: [UInt8]
        let data: [UInt8]
        let sha256: String
        let sha512: String
    }

    private static func bytes(_ byte: UInt8, _ count: Int) -> [UInt8] { Array(repeating: byte, count: count) }

    static let vectors = [
        Vector(
            key: bytes(0x0b, 20), data: Array("Hi There".utf8),
            sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            sha512: "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
                + "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"),
        Vector(
            key: Array("Jefe".utf8), data: Array("what do ya want for nothing?".utf8),
            sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            sha512: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"),
        Vector(
            key: bytes(0xaa, 20), data: bytes(0xdd, 50),
            sha256: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            sha512: "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39"
                + "bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb"),
        Vector(
            key: Array(1...25), data: bytes(0xcd, 50),
            sha256: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            sha512: "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3db"
                + "a91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd"),
        Vector(
            key: bytes(0xaa, 131), data: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            sha256: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            sha512: "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
                + "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598"),
    ]

    @Test(arguments: vectors)
    func agreesWithTheStandard(_ vector: Vector) async throws {
        var arguments: JSON = ["base64": ["$blob": 0], "keyBase64": .string(Base64.encode(vector.key))]
        #expect(try await host.call("hmac", arguments, blobs: [vector.data]) == .string(vector.sha256))
        arguments.set("algorithm", "sha512")
        #expect(try await host.call("hmac", arguments, blobs: [vector.data]) == .string(vector.sha512))
        arguments.set("base64", nil)
        arguments.set("path", "data")
        try host.project.write("data", vector.data)
        #expect(try await host.call("hmac", arguments) == .string(vector.sha512))
    }

    @Test(arguments: [
        ("sha1", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        ("sha384", "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"),
    ])
    func furtherAlgorithms(_ algorithm: String, _ digest: String) async throws {
        let arguments: JSON = [
            "text": "what do ya want for nothing?", "key": "Jefe", "algorithm": .string(algorithm),
        ]
        #expect(try await host.call("hmac", arguments) == .string(digest))
    }

    @Test func aKeyWithoutBytesIsAKey() async throws {
        #expect(
            try await host.call("hmac", ["text": "", "key": ""])
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test(arguments: [["text": "a"], ["text": "a", "key": "a", "keyBase64": ""], ["key": "a"]] as [JSON])
    func oneKeyAndOneInputAreTaken(_ arguments: JSON) async throws {
        #expect(await failure { try await host.call("hmac", arguments) }?.code == "host.invalid_argument")
    }
}

@Suite struct RandomTests {
    let host: TestHost
    init() throws { host = try TestHost("crypto", CryptoPlugin.entry) }

    @Test func identifiersAreVersionFourAndDiffer() async throws {
        var seen: Set<String> = []
        for _ in 0..<200 {
            let uuid = try #require(try await host.call("randomUUID").stringValue)
            #expect(uuid.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
            seen.insert(uuid)
        }
        #expect(seen.count == 200)
    }

    @Test(arguments: [1, 32, 1_048_576])
    func bytesAreAsManyAsAsked(_ count: Int64) async throws {
        let message = try await host.start("randomBytes", ["count": .int(count), "encoding": "bytes"]).answer()
        #expect(message.blobs.map(\.count) == [Int(count)])
        let text = try await host.call("randomBytes", ["count": .int(count)]).stringValue
        #expect(Base64.decode(text ?? "")?.count == Int(count))
        let digits = try await host.call("randomBytes", ["count": .int(count), "encoding": "hex"]).stringValue
        #expect(digits?.utf8.count == Int(count) * 2)
    }

    /// Each bit of 100,000 bytes is set in half of them, within five standard deviations.
    @Test func everyBitIsRandom() async throws {
        let message = try await host.start("randomBytes", ["count": 100_000, "encoding": "bytes"]).answer()
        for bit in 0..<8 {
            let set = message.blobs[0].count { $0 >> UInt8(bit) & 1 == 1 }
            #expect(abs(set - 50_000) < 800)
        }
    }
}
