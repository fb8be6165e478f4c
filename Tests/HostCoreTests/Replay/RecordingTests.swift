import ApsuleKit
import Foundation
import Glibc
import Testing

@testable import HostCore

@Suite struct RecordingTests {
    @Test func aRecordingHoldsWhatHappenedInOrder() async throws {
        let bench = try TapeBench()
        let host = try FakeHost(tape: try bench.recorder())
        host.provider.on("tick") { call in
            call.sink.reply(Payload(["id": "t"]))
            for index in 0..<3 { _ = call.sink.event("tick", Payload(["n": .int(Int64(index))])) }
            call.sink.end(Payload(["count": 3]))
        }
        host.provider.on("slow") { $0.sink.fail(HostError("fake.broken", "No.", details: ["why": "because"])) }
        _ = try await host.start("echo", ["b": 1, "a": [1.5, "é"]]).answer()
        let stream = host.start("tick")
        try await eventually { stream.end != nil }
        _ = try await host.start("slow").answer()
        let lines = try bench.lines
        #expect(lines[0]["apsule"] == "recording" && lines[0]["version"] == 1)
        let times = lines.dropFirst().compactMap { $0["t"]?.intValue }
        #expect(times == times.sorted() && times.count == lines.count - 1)
        #expect(lines[1]["operation"] == "fake.echo" && lines[1]["arguments"] == ["b": 1, "a": [1.5, "é"]])
        #expect(lines[2]["reply"] == ["b": 1, "a": [1.5, "é"]])
        #expect(lines[4...7].map { $0["event"] ?? $0["reply"] } == [["id": "t"], "tick", "tick", "tick"])
        #expect(lines[8]["end"] == ["count": 3])
        #expect(lines[10]["fail"] == ["code": "fake.broken", "message": "No.", "details": ["why": "because"]])
    }

    @Test func onlyItsOwnerReadsIt() throws {
        let bench = try TapeBench()
        _ = try bench.recorder()
        var info = stat()
        #expect(stat(bench.path, &info) == 0 && info.st_mode & 0o777 == 0o600)
        // An older recording is overwritten, and closed to others again.
        chmod(bench.path, 0o644)
        _ = try bench.recorder()
        #expect(stat(bench.path, &info) == 0 && info.st_mode & 0o777 == 0o600)
        #expect(try bench.lines.count == 1)
    }

    @Test func nothingElseIsOverwritten() throws {
        let bench = try TapeBench()
        try bench.folder.write("run.jsonl", "my diary\n")
        #expect(throws: HostError.self) { try bench.recorder() }
        #expect(try String(contentsOfFile: bench.path, encoding: .utf8) == "my diary\n")
        let link = bench.folder.path + "/link.jsonl"
        #expect(symlink(bench.path, link) == 0)
        #expect(throws: HostError.self) { try RecordingFile.create(link) }
        #expect(throws: HostError.self) { try RecordingFile.create(bench.folder.path) }
        #expect(throws: HostError.self) { try RecordingFile.create("/dev/null") }
        #expect(mkfifo(bench.folder.path + "/fifo", 0o600) == 0)
        #expect(throws: HostError.self) { try RecordingFile.create(bench.folder.path + "/fifo") }
    }

    @Test func secretsAreNotWritten() async throws {
        let bench = try TapeBench()
        let host = try FakeHost(tape: try bench.recorder())
        host.provider.on("secret") { call in
            call.sink.reply(nil)
            _ = call.sink.event("pin", Payload(["pin": "4711"]))
            _ = call.sink.event(
                "code", Payload(["code": ["$blob": 0], "name": ["$blob": 1]], blobs: [Blob([52, 55]), Blob([1])]))
            call.sink.end(nil)
        }
        host.provider.on("key") { $0.sink.reply(Payload("4711")) }
        let arguments: JSON = [
            "password": "4711", "headers": ["Authorization": "4711", "accept": "text"], "list": [["password": "kept"]],
        ]
        let stream = host.start("secret", arguments)
        try await eventually { stream.end != nil }
        _ = try await host.start("key").answer()
        let text = try String(contentsOfFile: bench.path, encoding: .utf8)
        #expect(!text.contains("4711") && !text.contains(Base64.encode([52, 55])))
        let lines = try bench.lines
        #expect(lines[1]["arguments"] == ["headers": ["accept": "text"], "list": [["password": "kept"]]])
        #expect(lines[3] == ["t": lines[3]["t"] ?? 0, "call": 1, "event": "pin", "value": nil, "redacted": true])
        #expect(lines[4]["value"] == ["name": ["$blob": 1]] && lines[4]["blobs"] == ["", "AQ=="])
        let player = try bench.player()
        // Other secrets, the same call.
        let again = player.start(
            "secret", ["password": "0815", "headers": ["accept": "text"], "list": [["password": "kept"]]])
        try await eventually { again.end != nil }
        #expect(again.events.map(\.name) == ["pin", "code"] && again.events[0].value == [:])
        let key = player.start("key")
        _ = try await key.answer()
        #expect(key.error?.code == "replay.redacted")
    }

    @Test(arguments: [
        ("https://name:4711@a.example/x?y=@z", "https://a.example/x?y=@z"), ("https://@a.example", "https://a.example"),
        ("https://a@4711@a.example", "https://a.example"), ("https://a.example/@4", "https://a.example/@4"),
        ("name@a.example", "name@a.example"), ("", ""),
    ]) func userAndPasswordOfAURLAreNotWritten(url: String, kept: String) {
        let redaction = Redaction([], urls: ["arguments.url", "arguments.all"])
        let arguments: JSON = ["url": .string(url), "all": [.string(url), 1], "other": .string(url)]
        let expected: JSON = ["url": .string(kept), "all": [.string(kept), 1], "other": .string(url)]
        #expect(redaction.apply(Payload(arguments), at: "arguments")?.value == expected)
        #expect(redaction.apply(Payload(arguments), at: "result")?.value == arguments)
    }

    @Test func aFullDiskEndsTheRecordingButNotTheRun() async throws {
        let problems = Kept<HostError>()
        let full = OwnedFile(open("/dev/full", O_WRONLY | O_CLOEXEC))
        let host = try FakeHost(tape: .record(CallRecorder(full) { problems.append($0) }))
        for _ in 0..<3 {
            let call = host.start("echo", ["n": 1])
            _ = try await call.answer()
            #expect(call.value == ["n": 1])
        }
        #expect(problems.all.map(\.code) == ["replay.recording_stopped"])
    }

    @Test func manyThreadsRecordWholeLines() async throws {
        let bench = try TapeBench()
        let host = try FakeHost(tape: try bench.recorder())
        let calls = (0..<500).map { host.start("echo", ["n": .int(Int64($0))]) }
        for call in calls { _ = try await call.answer() }
        let recording = try bench.recording()
        #expect(recording.calls.count == 500 && recording.warning == nil)
        #expect(recording.calls.allSatisfy { $0.entries.count == 1 })
    }
}
