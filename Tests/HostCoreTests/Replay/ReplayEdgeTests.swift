import ApsuleKit
import Foundation
import Testing

@testable import HostCore

/// What goes wrong only when threads race, clocks differ, or somebody else wrote the file.
@Suite struct ReplayEdgeTests {
    @Test func equalCallsAreAnsweredInTheOrderOfTheScript() async throws {
        let bench = try TapeBench()
        // Threads brought the later call to the recorder first.
        try bench.write([
            #"{"t":1,"call":2,"operation":"fake.echo","arguments":{}}"#,
            #"{"t":1,"call":1,"operation":"fake.echo","arguments":{}}"#,
            #"{"t":2,"call":2,"reply":"second"}"#, #"{"t":2,"call":1,"reply":"first"}"#,
        ])
        let host = try bench.player()
        let calls = [host.start("echo"), host.start("echo")]
        for call in calls { _ = try await call.answer() }
        #expect(calls.map(\.value) == ["first", "second"])
    }

    @Test func manyEqualCallsAtOnceGetTheAnswersTheyHad() async throws {
        let bench = try TapeBench()
        let live = try FakeHost(tape: try bench.recorder())
        live.provider.on("echo") { call in call.sink.reply(Payload(.int(Int64(call.id)))) }
        let before = (0..<200).map { _ in live.start("echo") }
        for call in before { _ = try await call.answer() }
        let host = try bench.player()
        let after = (0..<200).map { _ in host.start("echo") }
        for call in after { _ = try await call.answer() }
        #expect(after.map(\.value) == before.map(\.value))
    }

    @Test func aCallThatTimedOutTimesOutAgainAtAnySpeed() async throws {
        let bench = try TapeBench()
        let live = try FakeHost(tape: try bench.recorder())
        live.provider.on("slow") { _ in }
        let before = live.start("slow", timeoutMs: 800)
        _ = try await before.answer()
        try await eventually { try bench.lines.last?["fail"] != nil }
        #expect(before.error?.code == "host.timeout")
        for speed in [1, 1_000, Double.infinity] {
            let host = try bench.player(speed: speed)
            let call = host.start("slow", timeoutMs: 800)
            _ = try await call.answer()
            #expect(call.error?.code == "host.timeout", "at speed \(speed)")
        }
    }

    @Test func timesThatNoClockReachesAreNoTrap() async throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":0,"call":1,"operation":"fake.slow","arguments":{}}"#,
            #"{"t":9223372036854775807,"call":1,"cancel":true}"#,
            #"{"t":9223372036854775807,"call":1,"fail":{"code":"host.cancelled","message":"Over."}}"#,
            #"{"t":9223372036854775807,"call":2,"operation":"fake.slow","arguments":{}}"#,
            #"{"t":0,"call":2,"reply":"early"}"#,
        ])
        for speed in [1e-300, 1, .infinity] {
            let host = try bench.player(speed: speed)
            let call = host.start("slow")
            _ = try await call.answer()
            #expect(call.error?.code == "host.timeout")
            let second = host.start("slow")
            _ = try await second.answer()
            #expect(second.value == "early")
        }
    }

    @Test func textsThatOnlyLookAlikeDiffer() async throws {
        let bench = try TapeBench()
        try bench.write([#"{"t":1,"call":1,"operation":"fake.echo","arguments":{"name":"café","é":1}}"#])
        let host = try bench.player()
        let call = host.start("echo", ["name": "cafe\u{301}", "é": 1])
        _ = try await call.answer()
        #expect(call.error?.code == "replay.no_match" && call.error?.details["differs"] == ["name"])
    }

    @Test func aStreamWhoseAnswerIsSecretFailsOnce() async throws {
        let bench = try TapeBench()
        let live = try FakeHost(tape: try bench.recorder())
        live.provider.on("secretTick") { call in
            call.sink.reply(Payload(["id": "4711"]))
            for _ in 0..<3 { _ = call.sink.event("tick", .emptyObject) }
            call.sink.end(nil)
        }
        let before = live.start("secretTick")
        try await eventually { before.end != nil }
        let host = try bench.player()
        let after = host.start("secretTick")
        _ = try await after.answer()
        #expect(after.error?.code == "replay.redacted" && after.items.isEmpty)
        try await eventually { host.dispatcher.isIdle }
        #expect(host.console.lines.isEmpty && after.faults.isEmpty)
    }

    @Test func everyPrefixIsReadUpToItsLastWholeLine() throws {
        let header = #"{"apsule":"recording","version":1}"# + "\n"
        let entries = [
            #"{"t":0,"call":1,"operation":"fake.echo","arguments":{"é":"\"}\n"}}"#,
            #"{"t":1,"call":1,"reply":{"a":{"$blob":0}},"blobs":["AQ=="]}"#,
            #"{"t":2,"call":2,"operation":"fake.echo","arguments":{}}"#,
        ]
        let whole = Array((header + entries.map { $0 + "\n" }.joined()).utf8)
        for length in 0..<whole.count {
            let bytes = Array(whole.prefix(length))
            guard length >= header.utf8.count - 1 else {
                let error = #expect(throws: HostError.self) { try Recording(bytes, file: "cut") }
                #expect(error?.code == "replay.invalid" && error?.details["line"] == 1, "\(length) bytes")
                continue
            }
            let recording = try Recording(bytes, file: "cut")
            // A last line that lacks nothing but its end of line is whole.
            let isWhole = whole[length] == UInt8(ascii: "\n") || bytes.last == UInt8(ascii: "\n")
            let lines = bytes.filter { $0 == UInt8(ascii: "\n") }.count + (whole[length] == UInt8(ascii: "\n") ? 1 : 0)
            #expect(recording.calls.count == [0, 0, 1, 1, 2][lines], "\(length) bytes")
            #expect((recording.warning == nil) == isWhole, "\(length) bytes")
        }
    }

    @Test(arguments: [
        #""reply":{"$blob":0}"#, #""reply":[{"$blob":1}],"blobs":["AQ=="]"#, #""reply":{"$blob":-1},"blobs":["AQ=="]"#,
        #""reply":{"$blob":0},"blobs":"AQ==""#, #""reply":{"$blob":0},"blobs":{"0":"AQ=="}"#,
        #""reply":{"$blob":0},"blobs":[null]"#,
    ])
    func binaryDataMustBeThere(entry: String) throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":0,"call":1,"operation":"fake.echo","arguments":{}}"#, #"{"t":1,"call":1,\#(entry)}"#,
            #"{"t":2,"call":1,"cancel":true}"#,
        ])
        let error = #expect(throws: HostError.self) { try bench.recording() }
        #expect(error?.code == "replay.invalid" && error?.details["line"] == 3)
    }

    @Test func oneRunAtATimeRecordsToAFile() throws {
        let bench = try TapeBench()
        let tape = try bench.recorder()
        let error = #expect(throws: HostError.self) { try bench.recorder() }
        #expect(error?.code == "host.file_error" && error?.message.contains("another run") == true)
        withExtendedLifetime(tape) {}
    }

    @Test func anOlderRecordingOutlivesARunThatNeverStarts() throws {
        let bench = try TapeBench()
        try bench.write([#"{"t":0,"call":1,"operation":"fake.echo","arguments":{}}"#])
        let before = try FileReader.read(bench.path)
        _ = try RecordingFile.create(bench.path)
        #expect(try FileReader.read(bench.path) == before)
        _ = try bench.recorder()
        #expect(try bench.lines.count == 1)
    }
}
