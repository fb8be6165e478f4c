import ApsuleKit
import Foundation
import HostCore
import Testing

/// Calls of the C plugin, and what both tables promise of them.
@Suite(.serialized)
struct CallContractTests {
    @Test(arguments: Place.allCases) func passesArgumentsAndBlobsThrough(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        for size in [0, 1, 70_000, 1 << 20] {
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 13) }
            let arguments: JSON = ["text": "grün \u{0}\n", "big": .int(.max), "blobs": [["$blob": 0], ["$blob": 1]]]
            let call = served.start("echo", arguments, blobs: [Blob(bytes), Blob([])])
            #expect(try await call.answer() == arguments)
            let blobs = try #require(call.sink.payloads.first?.blobs)
            #expect(blobs.map(\.count) == [size, 0])
            #expect(blobs[0].withBytes { Array($0) } == bytes)
        }
        let large = JSON.string(String(repeating: "x", count: 3 << 20))
        #expect(try await served.call("echo", ["large": large]) == ["large": large])
        #expect(try await served.call("nothing") == .null)
    }

    /// Blobs that the plugin gave away are released once each: taken, dropped, and of a call that is gone.
    @Test(arguments: Place.allCases) func releasesOwnedBlobsOnce(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let before = try await served.call("counters")
        for size in [10, 100_000] {
            let call = served.start("owned", ["size": .int(Int64(size))])
            _ = try await call.answer()
            let blob = try #require(call.sink.payloads.first?.blobs.first)
            #expect(blob.withBytes { $0.enumerated().allSatisfy { $1 == UInt8(truncatingIfNeeded: $0 &* 7) } })
            call.sink.forget()
        }
        try await served.start("twice").done()
        let stream = try await served.start("count", ["n": 20, "size": 50]).done()
        stream.forget()
        let made = try await served.call("counters")["made"]?.intValue
        #expect(made == (before["made"]?.intValue ?? 0) + 23)
        try await eventually { stream.payloads.isEmpty }
        var released: Int64?
        for _ in 0..<200 where released != made {
            try await Task.sleep(for: .milliseconds(5))
            released = try await served.call("counters")["released"]?.intValue
        }
        #expect(released == made)
    }

    @Test(arguments: Place.allCases) func carriesErrors(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let failed = try await served.start("fail", ["code": "everything.other", "n": 7]).done()
        #expect(failed.errors.first == HostError("everything.other", "Asked to fail.", details: ["n": 7]))
        #expect(try await served.start("fail").done().errors.first?.code == "everything.failed")
    }

    @Test(arguments: Place.allCases) func dropsFurtherAnswersAndSaysSo(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let call = served.start("twice")
        #expect(try await call.answer() == ["answer": 1])
        try await eventually { served.host.logged.count { $0.contains("call \(call.id)") } == 2 }
        #expect(call.sink.said.count == 1)
    }

    @Test(arguments: Place.allCases) func endsOnceAfterCancel(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        // One that answers from inside cancel, one that does not care, one that is still inside invoke.
        let waiting = served.start("wait")
        let late = served.start("late", ["ms": 2_000])
        let blocked = served.start("block", ["ms": 60_000])
        while try await served.call("counters")["running"] != 3 { try await Task.sleep(for: .milliseconds(5)) }
        for call in [waiting, late, blocked] { call.cancel() }
        #expect(try await waiting.done().said == [.fail("host.cancelled")])
        #expect(try await late.done().said == [.reply(["late": true])])
        #expect(try await blocked.done().said == [.reply(["cancelled": true])])
        for call in [waiting, late, blocked] { call.cancel() }
        #expect(try await served.call("counters")["running"] == 0)
        #expect([waiting, late, blocked].allSatisfy { $0.sink.terminals == 1 })
    }

    /// More plugins that block than there are threads for them.
    @Test(arguments: Place.allCases) func cancelDoesNotWaitBehindBlockedInvokes(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let blocked = (0..<100).map { _ in served.start("block", ["ms": 60_000]) }
        try await Task.sleep(for: .milliseconds(300))
        let start = ContinuousClock.now
        for call in blocked { call.cancel() }
        var ran = 0
        for call in blocked {
            let said = try await call.done().said
            if said == [.reply(["cancelled": true])] { ran += 1 } else { #expect(said == [.fail("host.cancelled")]) }
        }
        // In another process some never had a thread of their own, and never reach the plugin.
        #expect(ran == 100 || place == .pluginHost && ran >= 50, "\(ran)")
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test(arguments: Place.allCases) func opensFilesOnlyThroughTheHost(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        var hooks = RecordingSink.Hooks()
        hooks.openPath = { [folder = served.folder] path, flags, mode in
            guard path == "allowed" else { return -EXDEV }
            return open(folder + "/" + path, flags | O_CLOEXEC, mode)
        }
        #expect(try await served.call("files.open", ["path": "../x"], hooks: hooks) == ["errno": .int(Int64(EXDEV))])
        let written = try await served.call("files.open", ["path": "allowed", "text": "hello"], hooks: hooks)
        #expect(written["count"] == 5)
        #expect(try await served.call("files.open", ["path": "allowed"], hooks: hooks)["text"] == "hello")
    }

    @Test(arguments: Place.allCases) func hasAFolderOfItsOwn(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        for round in 0..<3 {
            let words = JSON.string("round \(round)")
            #expect(try await served.call("data", ["name": "note", "text": words])["count"] == 7)
            #expect(try await served.call("data", ["name": "note"])["text"] == words)
        }
        #expect(FileManager.default.fileExists(atPath: served.folder + "/note"))
    }

    @Test(arguments: Place.allCases) func asksForScopesAndLogs(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        var hooks = RecordingSink.Hooks()
        hooks.allows = { $0 == "words" && $1 == "open" }
        for (word, allowed) in [("open", true), ("secret", false)] {
            let arguments: JSON = ["scope": "words", "word": .string(word)]
            #expect(try await served.call("allows", arguments, hooks: hooks) == ["allowed": .bool(allowed)])
        }
        _ = try await served.call("log", ["level": 2, "text": "careful"])
        try await eventually { served.host.logged.contains("warning everything: careful") }
    }

    /// Answers for calls that do not run reach nobody, and nothing of the host's.
    @Test(arguments: Place.allCases) func ignoresForgedCalls(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let waiting = served.start("wait")
        try await Task.sleep(for: .milliseconds(50))
        let answer = try await served.call("forge")
        #expect(answer == ["flow": 2, "file": .int(Int64(-EINVAL)), "allowed": 0])
        #expect(waiting.sink.said.isEmpty)
        waiting.cancel()
        try await waiting.done()
        #expect(try await served.call("echo", ["still": "here"]) == ["still": "here"])
    }

    /// A message of another size than this ABI's, or one that counts what is not there, is an error and no crash.
    @Test(arguments: Place.allCases, ["size", "none", "blobs", "json"])
    func readsNothingThatIsNotThere(_ place: Place, _ how: String) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let sink = try await served.start("malformed", ["how": .string(how)]).done()
        #expect(sink.errors.first?.code == "plugin.protocol_error")
        #expect(sink.terminals == 1)
        #expect(try await served.call("echo", ["still": "here"]) == ["still": "here"])
    }

    @Test(arguments: Place.allCases) func saysWhyItDoesNotOpen(_ place: Place) async throws {
        switch place {
        case .inProcess:
            let error = #expect(throws: HostError.self) { try Served(place, settings: ["refuse": true]) }
            #expect(error?.code == "everything.refused")
        case .pluginHost:
            let served = try Served(place, settings: ["refuse": true])
            for _ in 0..<5 {
                #expect(try await served.start("nothing").done().errors.first?.code == "everything.refused")
            }
            served.provider.close()
        }
    }

    /// Nothing is owed after close, and nothing comes.
    @Test(arguments: Place.allCases) func closesWithCallsInFlight(_ place: Place) async throws {
        let served = try Served(place)
        var open = [served.start("wait"), served.start("late", ["ms": 10_000]), served.start("ticks", ["ms": 5])]
        open.append(served.start("count", ["n": 1_000_000], hooks: .init(event: { _ in .hold })))
        try await eventually { open[2].sink.eventCount > 3 && open[3].sink.eventCount > 0 }
        let start = ContinuousClock.now
        served.provider.close()
        #expect(ContinuousClock.now - start < .seconds(6))
        let said = open.map { $0.sink.said.count }
        try await Task.sleep(for: .milliseconds(100))
        #expect(open.map { $0.sink.said.count } == said)
    }
}
