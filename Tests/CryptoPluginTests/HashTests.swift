import ApsuleKit
import CryptoPlugin
import Foundation
import TestHost
import Testing

/// FIPS 180-4's examples, and files.
@Suite struct HashTests {
    let host: TestHost
    init() throws { host = try TestHost("crypto", CryptoPlugin.entry) }

    static let messages = [
        "abc", "", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        String(repeating: "a", count: 1_000_000),
    ]
    static let sha256 = [
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    ]
    static let sha512 = [
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
            + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
        "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335"
            + "96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445",
        "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
            + "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
            + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
    ]

    @Test(arguments: zip(messages, sha256))
    func sha256Of(_ message: String, _ digest: String) async throws {
        #expect(try await host.call("sha256", ["text": .string(message)]) == .string(digest))
        #expect(try await host.call("sha256", ["base64": .string(Base64.encode(message.utf8))]) == .string(digest))
    }

    @Test(arguments: zip(messages, sha512))
    func sha512Of(_ message: String, _ digest: String) async throws {
        #expect(try await host.call("sha512", ["text": .string(message)]) == .string(digest))
        let blob: JSON = ["base64": ["$blob": 0]]
        #expect(try await host.call("sha512", blob, blobs: [Array(message.utf8)]) == .string(digest))
    }

    @Test func digestsComeAsAsked() async throws {
        let bytes: [UInt8] = [0x2c, 0xf2, 0x4d, 0xba]
        let base64 = try await host.call("sha256", ["text": "hello", "encoding": "base64"])
        #expect(Base64.decode(base64.stringValue ?? "")?.prefix(4) == bytes[...])
        let message = try await host.start("sha256", ["text": "hello", "encoding": "bytes"]).answer()
        #expect(message.json == ["$blob": 0])
        #expect(message.blobs.first?.count == 32 && message.blobs.first?.prefix(4) == bytes[...])
    }

    @Test(
        arguments: [
            [:], ["text": nil], ["text": "a", "base64": "YQ=="], ["text": "a", "path": "a"],
            ["base64": "YQ==", "path": "a"],
        ] as [JSON])
    func oneInputIsTaken(_ arguments: JSON) async throws {
        let error = await failure { try await host.call("sha256", arguments) }
        #expect(error?.code == "host.invalid_argument")
        #expect(error?.details["expected"] == "exactly one of text, base64, path")
    }

    // MARK: Files

    @Test(arguments: [0, 1, 131_071, 131_072, 131_073, 1_000_000])
    func aFileIsItsBytes(_ count: Int) async throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try host.project.write("data.bin", bytes)
        let file = try await host.call("sha512", ["path": "data.bin"])
        #expect(file == (try await host.call("sha512", ["base64": ["$blob": 0]], blobs: [bytes])))
    }

    private func makeSparse(_ name: String, _ size: UInt64) throws {
        try host.project.write(name, [])
        let file = try #require(FileHandle(forWritingAtPath: "\(host.project.files)/\(name)"))
        try file.truncate(atOffset: size)
    }

    /// In a process of its own: other tests would raise the peak of this one.
    @Test func aLargeFileIsNeverInMemory() async throws {
        try makeSparse("small", 1 << 20)
        try makeSparse("large", 256 << 20)
        let process = try PluginProcess("crypto", host.project)
        try await process.call("sha256", ["path": "small"])
        let before = try process.peakMemory
        #expect(
            try await process.call("sha256", ["path": "large"])
                == "a6d72ac7690f53be6ae46ba88506bd97302a093f7108472bd9efc3cefda06484")
        #expect(try process.peakMemory - before < 4 << 10)
    }

    @Test func aFileThatTakesLongIsLetGo() async throws {
        try makeSparse("endless", 1 << 40)
        let call = host.start("sha256", ["path": "endless"])
        try await Task.sleep(for: .milliseconds(30))
        call.cancel()
        #expect(await failure { try await call.answer() }?.code == "host.cancelled")
        #expect(host.violations.isEmpty)
    }

    @Test func whatIsNoFileOfTheProjectIsRefused() async throws {
        let files = host.project.files
        try FileManager.default.createDirectory(atPath: files + "/folder", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: files + "/link", withDestinationPath: "/etc/passwd")
        #expect(mkfifo(files + "/fifo", 0o600) == 0)
        for (path, code) in [
            ("missing", "not_found"), ("folder", "not_a_file"), ("fifo", "not_a_file"), ("../data", "outside_sandbox"),
            ("/etc/passwd", "outside_sandbox"), ("link", "outside_sandbox"), ("missing/a", "not_found"),
        ] {
            let error = await failure { try await host.call("sha256", ["path": .string(path)]) }
            #expect(error?.code == "crypto.\(code)", "\(path)")
            #expect(error?.details["path"] == .string(path))
        }
    }
}
