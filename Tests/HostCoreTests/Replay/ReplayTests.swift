import ApsuleKit
import Foundation
import Testing

@testable import HostCore

@Suite struct ReplayTests {
    @Test func callsAreToldApartByTheirOrder() async throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":1,"call":1,"operation":"fake.echo","arguments":{"a":1,"b":2}}"#,
            #"{"t":2,"call":1,"reply":"first"}"#,
            #"{"t":3,"call":2,"operation":"fake.echo","arguments":{"b":2,"a":1.0}}"#,
            #"{"t":4,"call":2,"reply":"second"}"#,
        ])
        let host = try bench.player()
        for expected in ["first", "second"] {
            let call = host.start("echo", ["b": 2.0, "a": 1])
            _ = try await call.answer()
            #expect(call.value == .string(expected))
        }
        let third = host.start("echo", ["a": 1, "b": 2])
        _ = try await third.answer()
        #expect(third.error?.code == "replay.no_match")
        #expect(third.error?.details["occurrence"] == 3 && third.error?.details["recorded"] == 2)
    }

    @Test func aMissNamesTheNearestCall() async throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":1,"call":1,"operation":"fake.echo","arguments":{"a":1,"b":2,"c":3}}"#,
            #"{"t":1,"call":2,"operation":"fake.echo","arguments":{"a":9,"b":9}}"#,
        ])
        let host = try bench.player()
        let call = host.start("echo", ["a": 1, "b": 2, "c": 4])
        _ = try await call.answer()
        #expect(call.error?.code == "replay.no_match")
        #expect(call.error?.details["nearest"] == ["a": 1, "b": 2, "c": 3])
        #expect(call.error?.details["differs"] == ["c"])
        let other = host.start("slow")
        _ = try await other.answer()
        #expect(other.error?.code == "replay.no_match" && other.error?.details["nearest"] == nil)
    }

    @Test func aStreamIsPlayedAsItWasAndCutShortByCancel() async throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":0,"call":1,"operation":"fake.tick","arguments":{}}"#,
            #"{"t":0,"call":1,"event":"tick","value":{"n":0}}"#, #"{"t":1,"call":1,"reply":{"id":"t"}}"#,
            #"{"t":2,"call":1,"event":"tick","value":{"n":1}}"#,
            #"{"t":600000,"call":1,"event":"tick","value":{"n":2}}"#,
            #"{"t":600000,"call":1,"cancel":true}"#, #"{"t":600001,"call":1,"end":{"count":3}}"#,
        ])
        let whole = try bench.player()
        let all = whole.start("tick")
        try await eventually { all.end != nil }
        #expect(all.events.map { $0.value["n"] } == [0, 1, 2] && all.final == ["count": 3] && all.value == ["id": "t"])
        let host = try bench.player(speed: 1)
        let cut = host.start("tick")
        try await eventually { cut.events.count == 2 }
        cut.cancel()
        try await eventually { cut.end != nil }
        #expect(cut.end == "cancelled" && cut.final == ["count": 3] && cut.events.count == 2 && cut.faults.isEmpty)
    }

    @Test func timesAreKeptAndDividedBySpeed() async throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":5000,"call":1,"operation":"fake.echo","arguments":{}}"#, #"{"t":5400,"call":1,"reply":1}"#,
            #"{"t":5400,"call":2,"operation":"fake.echo","arguments":{}}"#, #"{"t":105400,"call":2,"reply":2}"#,
        ])
        let host = try bench.player(speed: 1)
        let begin = Clock.now
        _ = try await host.start("echo").answer()
        #expect(Clock.now - begin >= 400)
        let fast = try bench.player(speed: 1_000)
        _ = try await fast.start("echo").answer()
        let second = fast.start("echo")
        _ = try await second.answer()
        #expect(second.value == 2)
    }

    @Test func aCallThatWasCutOffFailsInsteadOfHanging() async throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":0,"call":1,"operation":"fake.echo","arguments":{}}"#,
            #"{"t":0,"call":2,"operation":"fake.tick","arguments":{}}"#, #"{"t":0,"call":2,"reply":{}}"#,
            #"{"t":5,"call":2,"event":"tick","value":{}}"#,
        ])
        let host = try bench.player()
        let (call, stream) = (host.start("echo"), host.start("tick"))
        _ = try await call.answer()
        try await eventually { stream.end != nil }
        #expect(call.error?.code == "replay.ended" && stream.end == "replay.ended" && stream.events.count == 1)
    }

    @Test func aSlowReceiverHoldsThePlayerBack() async throws {
        let bench = try TapeBench()
        let events = (0..<5_000).map { #"{"t":1,"call":1,"event":"tick","value":{"n":\#($0)}}"# }
        try bench.write(
            [#"{"t":0,"call":1,"operation":"fake.tick","arguments":{}}"#, #"{"t":0,"call":1,"reply":{}}"#] + events
                + [#"{"t":2,"call":1,"end":null}"#])
        let host = try bench.player()
        let recorder = host.start("tick")
        recorder.isLazy = true
        try await eventually(30) {
            recorder.take(count: 7)
            return recorder.end != nil
        }
        #expect(recorder.end == "finished" && recorder.events.count == 5_000 && recorder.faults.isEmpty)
        #expect(recorder.events.enumerated().allSatisfy { $1.value["n"] == .int(Int64($0)) })
    }

    @Test func theGateDecidesAsEver() async throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":0,"call":1,"operation":"fake.guarded","arguments":{}}"#, #"{"t":0,"call":1,"reply":1}"#,
        ])
        let host = try bench.player()
        host.authority.onDecide { $1(.denied(HostError("permission.denied", "No."))) }
        let call = host.start("guarded")
        _ = try await call.answer()
        #expect(call.error?.code == "permission.denied")
        let malformed = host.start("guarded", ["services": 5])
        _ = try await malformed.answer()
        #expect(malformed.error?.code == "host.invalid_argument")
    }

    @Test func binaryDataAndInlineOperationsComeBack() async throws {
        let bench = try TapeBench()
        let live = try FakeHost(tape: try bench.recorder())
        live.provider.on("quick") { $0.sink.reply(Payload(["$blob": 0], blobs: [Blob([0, 255, 10])])) }
        let arguments = Payload(["data": ["$blob": 0]], blobs: [Blob([1, 2])])
        let operation = try #require(live.dispatcher.catalog.operation("fake.quick"))
        _ = try await live.start("quick").answer()
        #expect(try live.dispatcher.answerInline(operation, arguments)?.get() != nil)
        let host = try bench.player()
        _ = try await host.start("quick").answer()
        let answer = try #require(try host.dispatcher.answerInline(operation, arguments)?.get())
        #expect(answer.inlined() == "AP8K")
        let other = host.dispatcher.answerInline(operation, Payload(["data": ["$blob": 0]], blobs: [Blob([9])]))
        #expect(throws: HostError.self) { try other?.get() }
    }

    @Test(arguments: [
        ("", "line 1"), ("not json\n", "line 1"), (#"{"apsule":1}"# + "\n", "line 1"),
        (#"{"apsule":"recording","version":2}"# + "\n", "version 2"), ("[]\n", "line 1"),
    ])
    func whatIsNoRecordingIsRefused(text: String, reason: String) throws {
        let bench = try TapeBench()
        try bench.folder.write("run.jsonl", text)
        let error = #expect(throws: HostError.self) { try bench.recording() }
        #expect(error?.code == "replay.invalid" && error?.message.contains(reason) == true)
    }

    @Test(arguments: [
        "{}", "nonsense", #"{"t":-1,"call":1,"operation":"a.b"}"#, #"{"t":1,"call":7,"reply":1}"#,
        #"{"t":1,"call":1,"operation":"nodot"}"#, #"{"t":1,"call":0,"what":1}"#,
        #"{"t":1,"call":0,"operation":"fake.echo"}"#, #"{"t":1,"call":0,"reply":{"$blob":0},"blobs":["%%"]}"#,
    ])
    func aBrokenLineIsNamed(line: String) throws {
        let bench = try TapeBench()
        try bench.write([
            #"{"t":0,"call":0,"operation":"fake.echo","arguments":{}}"#, line, #"{"t":9,"call":0,"reply":1}"#,
        ])
        let error = #expect(throws: HostError.self) { try bench.recording() }
        #expect(error?.code == "replay.invalid" && error?.details["line"] == 3)
    }

    @Test func aTornLastLineIsLeftOutAndSaid() throws {
        let bench = try TapeBench()
        try bench.write([#"{"t":0,"call":0,"operation":"fake.echo","arguments":{}}"#, #"{"t":9,"call":0,"rep"#])
        let whole = try String(contentsOfFile: bench.path, encoding: .utf8)
        try bench.folder.write("run.jsonl", String(whole.dropLast()))
        let recording = try bench.recording()
        #expect(recording.calls.count == 1 && recording.warning?.contains("line 3") == true)
    }
}
