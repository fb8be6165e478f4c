import ApsuleKit
import Glibc
import Synchronization
import Testing

@testable import HostCore

@Suite struct DispatcherTests {
    @Test func answersAndFails() async throws {
        let host = try FakeHost()
        #expect(try await host.start("echo", ["a": 1]).answer().get().value == ["a": 1])
        host.provider.on("echo") { $0.sink.fail(HostError("fake.broken", "It broke.")) }
        let failed = host.start("echo")
        _ = try await failed.answer()
        #expect(failed.error?.code == "fake.broken")
        host.provider.on("echo") { $0.sink.reply(nil) }
        #expect(try await host.start("echo").answer().get().value == .null)
        #expect(host.dispatcher.activeCount == 0)
    }

    @Test func namesTheNearestOfUnknownOperations() throws {
        let host = try FakeHost()
        let recorder = host.start("ecko")
        #expect(recorder.error?.code == "host.operation_unknown")
        #expect(recorder.error?.details["suggestion"] == "fake.echo")
        #expect(recorder.error?.message.contains("Did you mean fake.echo?") == true)
        #expect(host.start("").error?.code == "host.operation_unknown")
        let other = Recorder()
        host.dispatcher.start("nowhere", .emptyObject, timeoutMs: nil, observer: other)
        #expect(other.error?.code == "host.operation_unknown")
    }

    @Test func refusesMalformedArgumentsBeforeAnyCode() throws {
        let host = try FakeHost()
        for operation in host.provider.operations {
            host.provider.on(operation) { _ in Issue.record("the provider was called") }
        }
        #expect(host.start("slow", ["surplus": 1]).error?.code == "host.invalid_argument")
        #expect(host.start("guarded", ["services": "180d"]).error?.details["path"] == "services")
        let recorder = Recorder()
        host.dispatcher.start(
            "fake.echo", Payload(json: Array("{\"a\": NaN}".utf8)), timeoutMs: nil, observer: recorder)
        #expect(recorder.error?.code == "host.invalid_argument")
        #expect(host.start("slow", timeoutMs: 0).error?.details["path"] == "timeoutMs")
        #expect(host.start("slow", timeoutMs: 1_001).error?.details["path"] == "timeoutMs")
        #expect(host.start("slow", timeoutMs: -1).error?.details["path"] == "timeoutMs")
        #expect(host.dispatcher.activeCount == 0)
    }

    @Test func timesOutAndTellsTheProvider() async throws {
        let host = try FakeHost()
        host.provider.on("slow") { _ in }
        let (recorder, took) = try await onThread {
            let begin = Clock.now
            let recorder = host.start("slow", timeoutMs: 50)
            while recorder.answers.isEmpty { usleep(1_000) }
            return (recorder, Clock.now - begin)
        }
        #expect(recorder.error?.code == "host.timeout")
        #expect(took >= 50 && took < 1_000)
        try await eventually { host.provider.cancelled == [recorder.id] }
        try await eventually { host.dispatcher.activeCount == 0 }
        #expect(recorder.faults.isEmpty)
    }

    @Test func countsTheTimeThatACallWaitsForAThread() async throws {
        let host = try FakeHost()
        let gate = Gatekeeper()
        host.provider.on("echo") { call in
            gate.wait()
            call.sink.reply(nil)
        }
        let blocked = (0..<64).map { _ in host.start("echo") }
        try await eventually { host.provider.live.count == 64 }
        let late = host.start("slow", timeoutMs: 50)
        let cancelled = host.start("slow", timeoutMs: 1_000)
        cancelled.cancel()
        #expect(cancelled.error?.code == "host.cancelled")
        _ = try await late.answer()
        #expect(late.error?.code == "host.timeout")
        // Neither has reached the provider, nor will.
        blocked[0].cancel()
        #expect(blocked[0].error?.code == "host.cancelled")
        try await eventually { host.provider.cancelled == [blocked[0].id] }
        gate.open()
        try await eventually { host.dispatcher.activeCount == 0 }
        #expect(!host.provider.live.contains { $0.operation == "slow" })
        #expect((blocked + [late, cancelled]).allSatisfy { $0.faults.isEmpty && $0.answers.count == 1 })
    }

    @Test func answersInlineWhereItIsAllowedAlready() throws {
        let host = try FakeHost()
        let quick = try #require(host.dispatcher.catalog.operation("fake.quick"))
        let guarded = try #require(host.dispatcher.catalog.operation("fake.guardedQuick"))
        // The family is not open yet.
        #expect(host.dispatcher.answerInline(quick, .emptyObject) == nil)
        let recorder = host.start("quick", ["a": 2])
        try waitFor { !recorder.answers.isEmpty }
        #expect(try host.dispatcher.answerInline(quick, Payload(["a": 3]))?.get().value == ["a": 3])
        // Undecided: it has to be started, so that somebody can be asked.
        #expect(host.dispatcher.answerInline(guarded, .emptyObject) == nil)
        let allowed = host.start("guardedQuick")
        try waitFor { !allowed.answers.isEmpty }
        #expect(try host.dispatcher.answerInline(guarded, .emptyObject)?.get().value == [:])
        host.authority.revoke("storage")
        #expect(host.dispatcher.answerInline(guarded, .emptyObject) == nil)
        // Malformed arguments are an answer.
        guard case .failure(let error)? = host.dispatcher.answerInline(guarded, Payload(["a": 1])) else {
            Issue.record("no refusal")
            return
        }
        #expect(error.code == "host.invalid_argument")
    }

    @Test func anInlineOperationWithMuchToDoGetsAThread() throws {
        let host = try FakeHost()
        let quick = try #require(host.dispatcher.catalog.operation("fake.quick"))
        let first = host.start("quick")
        try waitFor { !first.answers.isEmpty }
        let thread = Mutex<pthread_t?>(nil)
        host.provider.on("quick") { call in
            thread.withLock { $0 = pthread_self() }
            call.sink.reply(.null)
        }
        let border = 16 << 10
        for blobs in [[Blob([UInt8](repeating: 1, count: border - 2))], []] {
            let text = blobs.isEmpty ? "{\"a\":\"" + String(repeating: "x", count: border - 8) + "\"}" : "{}"
            let small = Payload(json: Array(text.utf8), blobs: blobs)
            #expect(host.dispatcher.answerInline(quick, small) != nil)
            #expect(thread.withLock { $0 } == pthread_self())
            let large = Payload(json: small.json + [UInt8(ascii: " ")], blobs: blobs)
            #expect(host.dispatcher.answerInline(quick, large) == nil)
            let recorder = Recorder()
            host.dispatcher.start("fake.quick", large, timeoutMs: nil, observer: recorder)
            try waitFor { !recorder.answers.isEmpty }
            #expect(thread.withLock { $0 } != pthread_self())
        }
    }

    @Test func anInlineOperationThatDoesNotAnswerIsAnError() throws {
        let host = try FakeHost()
        let quick = try #require(host.dispatcher.catalog.operation("fake.quick"))
        let first = host.start("quick")
        try waitFor { !first.answers.isEmpty }
        host.provider.on("quick") { _ in }
        guard case .failure(let error)? = host.dispatcher.answerInline(quick, .emptyObject) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == "plugin.protocol_error")
    }

    @Test func anInlineOperationOfAnotherProcessIsStarted() throws {
        let host = try FakeHost(answersInline: false)
        let quick = try #require(host.dispatcher.catalog.operation("fake.quick"))
        let first = host.start("quick")
        try waitFor { !first.answers.isEmpty }
        #expect(host.dispatcher.answerInline(quick, .emptyObject) == nil)
    }
}

/// Lets threads wait until it is opened.
final class Gatekeeper: Sendable {
    private let isOpen = Atomic(false)
    func open() { isOpen.store(true, ordering: .releasing) }
    func wait() { while !isOpen.load(ordering: .acquiring) { usleep(500) } }
}

/// `eventually` for tests that are not asynchronous.
func waitFor(_ condition: () throws -> Bool) throws {
    let limit = Clock.now + 10_000
    while try !condition() {
        try #require(Clock.now < limit, "it did not happen in time")
        usleep(500)
    }
}
