import ApsuleKit
import Glibc
import Testing

@testable import HostCore

@Suite struct LimitTests {
    @Test func boundsCallsAndStreams() async throws {
        let host = try FakeHost()
        host.provider.onCancel { $0.sink.fail(.cancelled) }
        let answer = FakeVerdicts()
        host.authority.onDecide { answer.keep($1) }
        // Calls that wait for a person count too; no thread is needed for them.
        let calls = (0..<Dispatcher.maximumCalls).map { _ in host.start("guarded") }
        #expect(host.start("guarded").error?.code == "host.busy")
        host.provider.on("tick") { $0.sink.reply(nil) }
        let streams = (0..<Dispatcher.maximumStreams).map { _ in host.start("tick") }
        #expect(host.start("tick").error?.code == "host.busy")
        #expect(host.start("echo").error?.details["calls"] == 1_024)
        for stream in streams { _ = try await stream.answer() }
        streams[0].cancel()
        try await eventually { streams[0].end != nil }
        #expect(host.start("tick").error == nil)
        calls[0].cancel()
        #expect(calls[0].error?.code == "host.cancelled")
        #expect(try await host.start("echo", ["a": 1]).answer().get().value == ["a": 1])
    }

    @Test func boundsArguments() async throws {
        let host = try FakeHost()
        func start(_ json: [UInt8], blobs: [Blob] = []) -> Recorder {
            let recorder = Recorder()
            host.dispatcher.start("fake.echo", Payload(json: json, blobs: blobs), timeoutMs: nil, observer: recorder)
            return recorder
        }
        func text(_ size: Int) -> [UInt8] {
            Array("{\"a\":\"".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: size - 8) + Array("\"}".utf8)
        }
        #expect(try await start(text(8 << 20)).answer().get().json.count == 8 << 20)
        let large = start(text((8 << 20) + 1))
        #expect(large.error?.code == "host.payload_too_large")
        #expect(large.error?.details["limit"] == 8_388_608)
        func nested(_ depth: Int) -> [UInt8] {
            Array("{\"a\":".utf8) + [UInt8](repeating: UInt8(ascii: "["), count: depth - 1)
                + [UInt8](repeating: UInt8(ascii: "]"), count: depth - 1) + Array("}".utf8)
        }
        #expect(try await start(nested(64)).answer().get().json.count == nested(64).count)
        #expect(start(nested(65)).error?.code == "host.payload_too_deep")
        #expect(start(nested(10_000)).error?.code == "host.payload_too_deep")
        // 300 blobs of one MiB that is there once only.
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        let blobs = bytes.withUnsafeBytes { raw in (0..<257).map { _ in Blob(raw) {} } }
        let tooLarge = start(Array("{}".utf8), blobs: blobs)
        #expect(tooLarge.error?.code == "host.payload_too_large")
        #expect(tooLarge.error?.details["size"] == .int(257 << 20))
        #expect(host.dispatcher.activeCount == 0)
    }

    @Test func boundsWhatPluginsSend() async throws {
        let host = try FakeHost()
        let large = Payload(json: [UInt8](repeating: UInt8(ascii: " "), count: 8 << 20) + Array("{}".utf8))
        host.provider.on("echo") { $0.sink.reply(large) }
        let call = host.start("echo")
        _ = try await call.answer()
        #expect(call.error?.code == "host.payload_too_large")
        host.provider.on("tick") { call in
            call.sink.reply(nil)
            _ = call.sink.event("tick", nil)
            #expect(call.sink.event("tick", large) == .stop)
        }
        let stream = host.start("tick")
        try await eventually { stream.end != nil }
        #expect(stream.events.count == 1)
        #expect(stream.end == "host.payload_too_large")
        try await eventually { host.dispatcher.activeCount == 0 }
        host.provider.on("tick") { call in
            call.sink.reply(nil)
            call.sink.end(large)
        }
        let final = host.start("tick")
        try await eventually { final.end != nil }
        #expect(final.end == "host.payload_too_large")
        host.provider.on("tick") { $0.sink.reply(large) }
        let opening = host.start("tick")
        _ = try await opening.answer()
        #expect(opening.error?.code == "host.payload_too_large")
        try await eventually { host.dispatcher.activeCount == 0 }
    }
}

/// Keeps questions open.
final class FakeVerdicts: Sendable {
    private let open = Kept<@Sendable (Verdict) -> Void>()
    func keep(_ completion: @escaping @Sendable (Verdict) -> Void) { open.append(completion) }
    func answer(_ verdict: Verdict) { for completion in open.takeAll() { completion(verdict) } }
    var count: Int { open.count }
}
