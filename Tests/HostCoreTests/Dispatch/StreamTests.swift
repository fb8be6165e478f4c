import ApsuleKit
import Glibc
import Synchronization
import Testing

@testable import HostCore

@Suite struct StreamTests {
    @Test func eventsBeforeTheAnswerComeAfterIt() async throws {
        let host = try FakeHost()
        host.provider.on("tick") { call in
            for index in 0..<3 { #expect(call.sink.event("tick", Payload(["n": .int(Int64(index))])) == .proceed) }
            call.sink.reply(Payload(["id": "t"]))
            _ = call.sink.event("tick", Payload(["n": 3]))
            call.sink.end(Payload(["count": 4]))
        }
        let recorder = host.start("tick")
        try await eventually { recorder.end != nil }
        #expect(recorder.faults.isEmpty)
        #expect(recorder.value == ["id": "t"])
        #expect(recorder.events.map { $0.value["n"] } == [0, 1, 2, 3])
        #expect(recorder.end == "finished")
        #expect(recorder.final == ["count": 4])
        #expect(host.dispatcher.activeCount == 0)
    }

    /// The answer is told before events, also where another thread sends them at the same time.
    @Test func eventsNeverOvertakeTheAnswer() async throws {
        let host = try FakeHost()
        host.provider.on("tick") { call in
            let isReady = Atomic(false)
            HostCore.Thread.start(name: "events") {
                isReady.store(true, ordering: .releasing)
                for _ in 0..<20 { _ = call.sink.event("tick", nil) }
                call.sink.end(nil)
            }
            while !isReady.load(ordering: .acquiring) { sched_yield() }
            call.sink.reply(nil)
        }
        try await onThread {
            for round in 0..<2_000 {
                let recorder = host.start("tick")
                while recorder.end == nil, recorder.error == nil { sched_yield() }
                try #require(recorder.faults.isEmpty, "round \(round): \(recorder.faults)")
            }
        }
    }

    @Test func anEndWithoutAnAnswerOpensTheStream() async throws {
        let host = try FakeHost()
        host.provider.on("tick") { $0.sink.end(Payload(["n": 1])) }
        let recorder = host.start("tick")
        try await eventually { recorder.end != nil }
        #expect(recorder.value == [:])
        #expect(recorder.final == ["n": 1])
        #expect(recorder.faults.isEmpty)
    }

    @Test func anErrorEndsItAfterTheEventsBeforeIt() async throws {
        let host = try FakeHost()
        host.provider.on("tick") { call in
            call.sink.reply(nil)
            _ = call.sink.event("tick", nil)
            call.sink.fail(HostError("fake.gone", "gone"))
            #expect(call.sink.event("tick", nil) == .stop)
        }
        let recorder = host.start("tick")
        try await eventually { recorder.end != nil }
        #expect(recorder.end == "fake.gone")
        #expect(recorder.events.count == 1)
    }

    @Test func aCancelledStreamKeepsItsResults() async throws {
        let host = try FakeHost()
        host.provider.on("tick") { call in
            call.sink.reply(nil)
            _ = call.sink.event("tick", nil)
        }
        host.provider.onCancel { call in
            HostCore.Thread.start(name: "final") {
                usleep(300_000)
                #expect(call.sink.event("tick", nil) == .stop)
                call.sink.end(Payload(["seen": 1]))
            }
        }
        let recorder = host.start("tick")
        try await eventually { recorder.events.count == 1 }
        recorder.cancel()
        recorder.cancel()
        try await eventually { recorder.end != nil }
        #expect(recorder.end == "cancelled")
        #expect(recorder.final == ["seen": 1])
        #expect(host.provider.cancelled == [recorder.id])
    }

    @Test func aTimeoutIsForTheOpeningOnly() async throws {
        let host = try FakeHost()
        host.provider.on("tick") { $0.sink.reply(nil) }
        let open = host.start("tick", timeoutMs: 50)
        _ = try await open.answer()
        host.provider.on("tick") { _ in }
        let closed = host.start("tick", timeoutMs: 50)
        _ = try await closed.answer()
        #expect(closed.error?.code == "host.timeout")
        try await Task.sleep(for: .milliseconds(200))
        #expect(open.end == nil)
    }

    @Test func everyHoldIsResumedOnce() async throws {
        let host = try FakeHost()
        let holds = Atomic(0)
        host.provider.on("tick") { call in
            call.sink.reply(nil)
            for _ in 0..<100 where call.sink.event("tick", nil) == .hold { holds.add(1, ordering: .relaxed) }
        }
        let recorder = Recorder()
        recorder.isLazy = true
        let call = host.dispatcher.start("fake.tick", .emptyObject, timeoutMs: nil, observer: recorder)
        recorder.call.withLock { $0 = call }
        try await eventually { holds.load(ordering: .relaxed) == 37 }
        recorder.take(count: 80)
        try await Task.sleep(for: .milliseconds(20))
        #expect(host.provider.resumes(recorder.id) == 0)
        recorder.take(count: 4)
        try await eventually { host.provider.resumes(recorder.id) == 37 }
        recorder.take()
        try await Task.sleep(for: .milliseconds(20))
        #expect(host.provider.resumes(recorder.id) == 37)
        #expect(recorder.events.count == 100)
    }

    @Test func aLosslessStreamThatNobodyTakesFails() async throws {
        let host = try FakeHost()
        let flows = Mutex<[Flow]>([])
        host.provider.on("tick") { call in
            call.sink.reply(nil)
            for _ in 0..<1_002 {
                let flow = call.sink.event("tick", nil)
                flows.withLock { $0.append(flow) }
            }
        }
        let recorder = Recorder()
        recorder.isLazy = true
        let call = host.dispatcher.start("fake.tick", .emptyObject, timeoutMs: nil, observer: recorder)
        recorder.call.withLock { $0 = call }
        try await eventually { flows.withLock { $0.count } == 1_002 }
        #expect(flows.withLock { $0[999] } == .hold)
        #expect(flows.withLock { $0[1_000] } == .stop)
        #expect(flows.withLock { $0[1_001] } == .stop)
        try await eventually { host.provider.cancelled.contains(recorder.id) }
        recorder.take()
        // What was taken over before is not lost.
        #expect(recorder.events.count == 1_001)
        #expect(recorder.end == "host.stream_overflow")
    }

    @Test func latestDropsTheOldestAndSaysHowMany() async throws {
        let host = try FakeHost()
        let sent = Atomic(false)
        host.provider.on("latest") { call in
            call.sink.reply(nil)
            for index in 0..<1_000 {
                #expect(call.sink.event("tick", Payload(["n": .int(Int64(index))])) == .proceed)
            }
            sent.store(true, ordering: .releasing)
        }
        let recorder = Recorder()
        recorder.isLazy = true
        let call = host.dispatcher.start("fake.latest", .emptyObject, timeoutMs: nil, observer: recorder)
        recorder.call.withLock { $0 = call }
        try await eventually { sent.load(ordering: .acquiring) }
        recorder.take()
        #expect(recorder.events.first?.name == "dropped")
        #expect(recorder.events.first?.value["count"] == 744)
        #expect(recorder.events.count == 257)
        #expect(recorder.events.last?.value["n"] == 999)
        #expect(host.provider.resumes(recorder.id) == 0)
    }

    @Test func undeclaredEventsAreDroppedAndSaid() async throws {
        let host = try FakeHost()
        host.provider.on("tick") { call in
            call.sink.reply(nil)
            for name in ["tock", "end", "error", "tick", "lost"] { _ = call.sink.event(name, nil) }
            call.sink.end(nil)
        }
        let recorder = host.start("tick")
        try await eventually { recorder.end != nil }
        #expect(recorder.events.map(\.name) == ["tick", "lost"])
        #expect(host.console.lines.count == 3)
    }

    @Test func revocationEndsAnOpenStreamAtOnce() async throws {
        let host = try FakeHost()
        host.provider.on("guardedTick") { call in
            call.sink.reply(nil)
            for _ in 0..<10 { _ = call.sink.event("tick", nil) }
        }
        host.provider.on("tick") { $0.sink.reply(nil) }
        let untouched = host.start("tick")
        let recorder = Recorder()
        recorder.isLazy = true
        let call = host.dispatcher.start("fake.guardedTick", .emptyObject, timeoutMs: nil, observer: recorder)
        recorder.call.withLock { $0 = call }
        try await eventually { !recorder.answers.isEmpty && !untouched.answers.isEmpty }
        recorder.take(count: 3)
        host.authority.revoke("bluetooth")
        recorder.take()
        #expect(recorder.events.count == 3)
        #expect(recorder.end == "permission.revoked")
        try await eventually { host.provider.cancelled == [recorder.id] }
        #expect(untouched.end == nil)
    }
}
