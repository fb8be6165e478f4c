import ApsuleKit
import Foundation
import StoragePlugin
import TestHost
import Testing

/// A damaged file is never a silent fresh start: it is said, kept, and what can be read of it is there again.
@Suite struct DamageTests {
    let project: TestProject
    var file: String { project.data + "/storage.db" }
    init() throws { project = try TestProject() }

    private func host() throws -> TestHost { try TestHost("storage", StoragePlugin.entry, project: project) }

    private func fill(_ count: Int) async throws {
        let host = try host()
        for index in 0..<count {
            try await host.call(
                "set", ["key": .string("\(index)"), "value": .string(String(repeating: "v", count: 1000))])
        }
        host.close()
    }

    private func count(_ host: TestHost) async throws -> Int {
        try await host.call("list", ["limit": 1000])["keys"]?.arrayValue?.count ?? -1
    }

    /// Uses the store once, which fails, and checks what is said of it.
    private func expectRepair(_ host: TestHost, _ bytes: Data, sourceLocation: SourceLocation = #_sourceLocation)
        async throws -> Int
    {
        let error = try #require(await failure { try await count(host) }, sourceLocation: sourceLocation)
        #expect(error.code == "storage.corrupt", sourceLocation: sourceLocation)
        let name = try #require(error.details["quarantined"]?.stringValue, "\(error)", sourceLocation: sourceLocation)
        #expect(error.message.contains(name), sourceLocation: sourceLocation)
        #expect(host.logged.contains { $0.hasPrefix("error:") && $0.contains(name) }, sourceLocation: sourceLocation)
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: "\(project.data)/\(name)")) == bytes,
            sourceLocation: sourceLocation)
        let recovered = Int(error.details["recovered"]?.intValue ?? -1)
        #expect(try await count(host) == recovered, sourceLocation: sourceLocation)
        try await host.call("set", ["key": "new", "value": 1])
        let reopened = try self.host()
        #expect(try await reopened.call("get", ["key": "new"]) == 1, sourceLocation: sourceLocation)
        return recovered
    }

    @Test(arguments: [0, 1, 100, 4096])
    func aFileCutToNearlyNothing(_ size: Int) async throws {
        try await fill(20)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file)).prefix(size)
        try bytes.write(to: URL(fileURLWithPath: file))
        #expect(try await expectRepair(host(), bytes) == 0)
    }

    @Test func aFileOfSomethingElse() async throws {
        let bytes = Data(repeating: UInt8(ascii: "x"), count: 10_000)
        try bytes.write(to: URL(fileURLWithPath: file))
        #expect(try await expectRepair(host(), bytes) == 0)
    }

    @Test func aDamagedPageInTheMiddle() async throws {
        try await fill(200)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        let page = bytes.count / 4096 / 2
        bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(repeating: 0xa5, count: 4096))
        try bytes.write(to: URL(fileURLWithPath: file))
        let host = try host()
        // Some entries may be read before the damage is met.
        var error: HostError?
        for index in 0..<200 where error == nil {
            error = await failure { try await host.call("get", ["key": .string("\(index)")]) }
        }
        #expect(error?.code == "storage.corrupt")
        let recovered = try #require(error?.details["recovered"]?.intValue)
        #expect((150...199).contains(recovered))
        #expect(try await count(host) == Int(recovered))
    }

    @Test func theSecondHalfIsMissing() async throws {
        try await fill(200)
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        let bytes = whole.prefix(whole.count / 2 / 4096 * 4096)
        try bytes.write(to: URL(fileURLWithPath: file))
        let recovered = try await expectRepair(host(), bytes)
        #expect(recovered > 20 && recovered < 200)
    }

    /// The process that has the old file open writes to the new one.
    @Test func anotherProcessMovesAlong() async throws {
        try await fill(20)
        let other = try PluginProcess("storage", project)
        #expect(try await other.call("get", ["key": "0"]) != .null)
        let bytes = Data(repeating: 0, count: 8192)
        try FileManager.default.removeItem(atPath: file)
        try bytes.write(to: URL(fileURLWithPath: file))
        for end in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + end) }
        let host = try host()
        #expect(await failure { try await count(host) }?.code == "storage.corrupt")
        try await other.call("set", ["key": "kept", "value": 1])
        #expect(try await host.call("get", ["key": "kept"]) == 1)
    }

    @Test func oneOfManyRepairs() async throws {
        try Data(repeating: 1, count: 4096).write(to: URL(fileURLWithPath: file))
        let hosts = try (0..<8).map { _ in try host() }
        let calls = hosts.enumerated().map { $1.start("set", ["key": .string("\($0)"), "value": 1]) }
        var kept = 0
        for call in calls {
            let error = await failure { try await call.answer() }
            #expect(error == nil || error?.code == "storage.corrupt")
            if error == nil { kept += 1 }
        }
        #expect(kept < 8)
        #expect(try await count(host()) == kept)
        let aside = try FileManager.default.contentsOfDirectory(atPath: project.data).filter {
            $0.hasPrefix("storage.damaged")
        }
        #expect(aside.count == 1)
    }

    @Test func aNewerProgramsFileIsLeftAlone() async throws {
        try await fill(1)
        // user_version, at offset 60 of the header.
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        bytes[63] = 9
        try bytes.write(to: URL(fileURLWithPath: file))
        #expect(await failure { try await count(host()) }?.code == "storage.newer_version")
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == bytes)
    }

    @Test func aLeftoverLogOfAMissingFileIsNotTaken() async throws {
        try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: file + "-wal"))
        #expect(try await count(host()) == 0)
    }
}
