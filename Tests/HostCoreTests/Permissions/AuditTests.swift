import ApsuleKit
import Foundation
import Glibc
import Testing

@testable import HostCore

@Suite struct AuditTests {
    private let app = ProjectIdentity(id: "com.example.app", origin: "folder:/a#1@2")

    @Test func oneLineADenialAndOneACount() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(["bluetooth": ["services": ["180d"]]], allowed: ["bluetooth"])
        let gate = Gate(authority: authority)
        func check(_ service: String) async {
            let need = Need(permission: "bluetooth", scopes: ["services": [service]])
            await withCheckedContinuation { done in
                gate.check(Question(operation: "bluetooth.scan", needs: [need])) { _ in done.resume() }
            }
        }
        for _ in 0..<100 { await check("180d") }
        for _ in 0..<3 { await check("180f") }
        await check("0x180d")
        gate.flush()
        gate.flush()
        #expect(bench.audit("denied").count == 3)
        let allowed = bench.audit("allowed")
        // The first is written at once, the rest as a count; another scope value has its own.
        #expect(allowed.map { $0["count"] } == [1, 1, 99])
        #expect(allowed[2]["needs"]?[0]?["scopes"]?["services"] == ["180d"])
        #expect(bench.audit().allSatisfy { $0["time"]?.intValue != nil && $0["origin"] == "folder:/a/app#1@2" })
    }

    @Test func isTheOwnersAlone() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("audit.jsonl", "", mode: 0o644)
        let audit = try AuditLog(state: folder.path)
        audit.write("denied", app, [])
        var info = stat()
        #expect(stat(file, &info) == 0)
        #expect(info.st_mode & 0o777 == 0o600)
        chmod(file, 0o666)
        #expect(failure { try AuditLog(state: folder.path) }?.code == "audit.not_owner_only")
        unlink(file)
        symlink("/dev/null", file)
        #expect(failure { try AuditLog(state: folder.path) }?.code == "audit.not_owner_only")
    }

    @Test func isRotatedAndFourAreKept() throws {
        let folder = try TemporaryFolder()
        let audit = try AuditLog(state: folder.path)
        let text = JSON.string(String(repeating: "x", count: 50_000))
        for index in 0..<130 { audit.write("denied", app, [.init("n", .int(Int64(index))), .init("text", text)]) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["audit.1.jsonl", "audit.2.jsonl", "audit.3.jsonl", "audit.4.jsonl", "audit.jsonl"])
        var numbers: [Int64] = []
        for name in ["audit.4.jsonl", "audit.3.jsonl", "audit.2.jsonl", "audit.1.jsonl", "audit.jsonl"] {
            var info = stat()
            #expect(stat("\(folder.path)/\(name)", &info) == 0)
            #expect(info.st_size <= 1 << 20 && info.st_mode & 0o777 == 0o600)
            let lines = try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8).split(separator: "\n")
            numbers += try lines.map { try #require(try JSON(parsing: String($0))["n"]?.intValue) }
        }
        #expect(numbers == Array(numbers[0]...129))
        #expect(numbers.count >= 80)
    }

    @Test func severalProcessesShareItWithoutLosingLines() async throws {
        let folder = try TemporaryFolder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    try await onThread {
                        let audit = try AuditLog(state: folder.path)
                        let text = JSON.string(String(repeating: "x", count: 2_000))
                        for index in 0..<400 {
                            audit.write(
                                "denied", app, [.init("n", .string("\(writer).\(index)")), .init("text", text)])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        var seen: Set<String> = []
        var count = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            for line in try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8).split(separator: "\n") {
                seen.insert(try #require(try JSON(parsing: String(line))["n"]?.stringValue))
                count += 1
            }
        }
        #expect(seen.count == 1_600 && count == 1_600)
    }

    @Test func itComesBackAfterItWasDeleted() throws {
        let folder = try TemporaryFolder()
        let audit = try AuditLog(state: folder.path)
        audit.write("denied", app, [])
        unlink(folder.path + "/audit.jsonl")
        audit.write("denied", app, [.init("n", 2)])
        let text = try String(contentsOfFile: folder.path + "/audit.jsonl", encoding: .utf8)
        #expect(text.contains("\"n\":2"))
    }
}
