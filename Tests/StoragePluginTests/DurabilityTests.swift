import ApsuleKit
import Foundation
import StoragePlugin
import TestHost
import Testing

@Suite struct DurabilityTests {
    let project: TestProject
    init() throws { project = try TestProject() }

    /// The value tells whether it is whole.
    private func value(_ index: Int) -> JSON {
        ["index": .int(Int64(index)), "text": .string(String(repeating: "\(index),", count: index % 700))]
    }

    @Test func whatWasAcknowledgedSurvivesAKill() async throws {
        var acknowledged = 0
        for round in 0..<8 {
            let process = try PluginProcess("storage", project)
            let asked = acknowledged + 400
            for index in acknowledged..<asked {
                try process.send("set", ["key": .string("\(index)"), "value": value(index)])
            }
            let target = acknowledged + 1 + round * round * 5
            while acknowledged < target {
                let answer = try #require(try await process.next())
                try #require(answer == ["result": nil])
                acknowledged += 1
            }
            process.kill()
            let host = try TestHost("storage", StoragePlugin.entry, project: project)
            for index in 0..<acknowledged {
                #expect(try await host.call("get", ["key": .string("\(index)")]) == value(index))
            }
            // What came later is there as a whole or not at all, and without a gap.
            var isGone = false
            for index in acknowledged..<asked {
                let found = try await host.call("get", ["key": .string("\(index)")])
                #expect(found == .null || (found == value(index) && !isGone))
                isGone = isGone || found == .null
            }
            #expect(host.logged.isEmpty)
        }
    }

    @Test func twoProcessesWriteAtOnce() async throws {
        let processes = try (0..<2).map { _ in try PluginProcess("storage", project) }
        for index in 0..<100 {
            for (number, process) in processes.enumerated() {
                try process.send("set", ["key": .string("\(number)/\(index)"), "value": .int(Int64(index))])
                try process.send("set", ["key": "shared", "value": .int(Int64(index))])
            }
        }
        for process in processes {
            for _ in 0..<200 { #expect(try await process.next() == ["result": nil]) }
        }
        let host = try TestHost("storage", StoragePlugin.entry, project: project)
        #expect(try await host.call("list", ["limit": 1000])["keys"]?.arrayValue?.count == 201)
        #expect(try await host.call("get", ["key": "shared"]) == 99)
        #expect(try await processes[0].call("get", ["key": "1/99"]) == 99)
    }

    @Test func manyCallsAtOnceAreAllKept() async throws {
        let host = try TestHost("storage", StoragePlugin.entry, project: project)
        let calls = (0..<200).map { host.start("set", ["key": .string("\($0 % 150)"), "value": .int(Int64($0))]) }
        for call in calls { _ = try await call.answer() }
        #expect(try await host.call("list", ["limit": 1000])["keys"]?.arrayValue?.count == 150)
        #expect(host.violations.isEmpty)
    }

    // MARK: No space

    @Test func theOwnersLimitIsKept() async throws {
        let host = try TestHost("storage", StoragePlugin.entry, project: project, settings: ["maximumBytes": 262_144])
        let block = JSON.string(String(repeating: "x", count: 10_000))
        var kept = 0
        let error = await failure {
            while true {
                try await host.call("set", ["key": .string("\(kept)"), "value": block])
                kept += 1
            }
        }
        #expect(error?.code == "storage.full")
        #expect((15...26).contains(kept))
        #expect(
            await failure {
                try await host.call("set", ["key": "0", "value": .string(String(repeating: "y", count: 30_000))])
            }?.code == "storage.full")
        for index in 0..<kept { #expect(try await host.call("get", ["key": .string("\(index)")]) == block) }
        #expect(try await host.call("delete", ["key": "0"]) == true)
        try await host.call("set", ["key": "0", "value": block])
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs a mount namespace"))
    func aFullDiskLosesNothing() async throws {
        let process = try PluginProcess("storage", project, wrapper: SmallDisk.command(over: project.data))
        let block = JSON.string(String(repeating: "x", count: 10_000))
        var kept = 0
        let error = await failure {
            while true {
                try await process.call("set", ["key": .string("\(kept)"), "value": block])
                kept += 1
            }
        }
        #expect(error?.code == "storage.full")
        #expect(kept > 5)
        #expect(
            await failure {
                try await process.call("set", ["key": "0", "value": .string(String(repeating: "y", count: 90_000))])
            }?.code == "storage.full")
        for index in 0..<kept { #expect(try await process.call("get", ["key": .string("\(index)")]) == block) }
        try SmallDisk.resize(process, project.data, to: "2m")
        try await process.call("set", ["key": "0", "value": block])
        #expect(try await process.call("get", ["key": "0"]) == block)
    }
}
