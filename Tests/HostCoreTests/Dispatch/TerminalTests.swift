import ApsuleKit
import Glibc
import Synchronization
import Testing

@testable import HostCore

/// One terminal for the caller, whoever races whom.
@Suite struct TerminalTests {
    @Test func aSecondAnswerIsDroppedAndSaid() async throws {
        let host = try FakeHost()
        host.provider.on("echo") { call in
            call.sink.reply(Payload(1))
            call.sink.reply(Payload(2))
            call.sink.fail(HostError("fake.late", "late"))
        }
        let recorder = host.start("echo")
        #expect(try await recorder.answer().get().value == 1)
        try await eventually { host.console.lines.count == 2 }
        #expect(recorder.answers.count == 1)
        #expect(host.console.lines[0].contains("answered twice"))
    }

    @Test func cancelInEveryPhase() async throws {
        let host = try FakeHost()
        // While permission is asked for.
        let answer = Mutex<(@Sendable (Verdict) -> Void)?>(nil)
        host.authority.onDecide { _, completion in answer.withLock { $0 = completion } }
        let asking = host.start("guarded")
        asking.cancel()
        #expect(asking.error?.code == "host.cancelled")
        answer.withLock { $0 }?(.allowed(once: false, expires: nil))
        try await Task.sleep(for: .milliseconds(20))
        #expect(host.provider.live.isEmpty)
        host.authority.onDecide { $1(.allowed(once: false, expires: nil)) }

        // While invoke runs, and again once it has returned.
        let gate = Gatekeeper()
        host.provider.onCancel { _ in }
        host.provider.on("echo") { _ in gate.wait() }
        let running = host.start("echo")
        try await eventually { !host.provider.live.isEmpty }
        running.cancel()
        running.cancel()
        #expect(running.error?.code == "host.cancelled")
        // Every 20 ms until then.
        try await eventually { !host.provider.cancelled.isEmpty }
        gate.open()
        try await eventually { host.provider.cancelled.count > 1 }
        #expect(Set(host.provider.cancelled) == [running.id])
        // The late answer is nobody's, and nobody complains about it.
        host.provider.live[0].sink.reply(Payload(1))
        #expect(host.dispatcher.activeCount == 0)
        #expect(host.console.lines.isEmpty)
        #expect(running.answers.count == 1)

        // Just after the terminal.
        host.provider.on("echo") { $0.sink.reply(nil) }
        let done = host.start("echo")
        _ = try await done.answer()
        done.cancel()
        try await Task.sleep(for: .milliseconds(20))
        #expect(!host.provider.cancelled.contains(done.id))
    }

    @Test func anEndOfACallThatIsNoStreamIsAnError() async throws {
        let host = try FakeHost()
        host.provider.on("echo") { $0.sink.end(Payload(1)) }
        let recorder = host.start("echo")
        _ = try await recorder.answer()
        #expect(recorder.error?.code == "plugin.protocol_error")
        #expect(host.dispatcher.activeCount == 0)
    }

    @Test(arguments: ["echo", "tick"]) func oneTerminalUnderRaces(_ operation: String) async throws {
        let host = try FakeHost()
        host.provider.onCancel { _ in }
        host.provider.on(operation) { _ in }
        try await onThread {
            for round in 0..<3_000 {
                let recorder = host.start(operation, timeoutMs: operation == "tick" ? 1 + round % 3 : nil)
                while host.provider.take(recorder.id) == nil, recorder.answers.isEmpty { sched_yield() }
                let call = host.provider.take(recorder.id)
                let start = Atomic(0)
                let racers: [@Sendable () -> Void] = [
                    { call?.sink.reply(Payload(["n": 1])) },
                    { if operation == "tick" { _ = call?.sink.event("tick", nil) } else { call?.sink.reply(nil) } },
                    {
                        if operation == "tick" {
                            call?.sink.end(Payload(["n": 2]))
                        } else {
                            call?.sink.fail(.cancelled)
                        }
                    },
                    { recorder.cancel() },
                    { if round % 2 == 0 { host.dispatcher.revokeAll(recorder.id) } },
                ]
                let done = Atomic(0)
                for racer in racers {
                    HostCore.Thread.start(name: "racer") {
                        start.add(1, ordering: .relaxed)
                        while start.load(ordering: .relaxed) < racers.count { sched_yield() }
                        racer()
                        done.add(1, ordering: .releasing)
                    }
                }
                while done.load(ordering: .acquiring) < racers.count { sched_yield() }
                // The provider owes one terminal in any case.
                for call in host.provider.takeAll() {
                    if operation == "tick" { call.sink.end(nil) } else { call.sink.reply(nil) }
                }
                recorder.take()
                try #require(recorder.answers.count == 1, "round \(round)")
                try #require(recorder.faults.isEmpty, "round \(round): \(recorder.faults)")
                if recorder.value != nil, operation == "tick" {
                    try #require(recorder.end != nil, "round \(round): an open stream without an end")
                }
            }
        }
        for call in host.provider.takeAll() {
            if operation == "tick" { call.sink.end(nil) } else { call.sink.reply(nil) }
        }
        try await eventually { host.dispatcher.activeCount == 0 }
        #expect(host.provider.faults.isEmpty)
    }

    @Test func aLeakIsSaidAfterFiveSecondsAndItsSlotIsKept() async throws {
        let host = try FakeHost()
        host.provider.onCancel { _ in }
        host.provider.on("echo") { _ in }
        host.provider.on("tick") { $0.sink.reply(nil) }
        let call = host.start("echo")
        let stream = host.start("tick")
        _ = try await stream.answer()
        try await eventually { host.provider.live.count == 2 }
        call.cancel()
        stream.cancel()
        #expect(call.error?.code == "host.cancelled")
        try await Task.sleep(for: .milliseconds(4_500))
        #expect(stream.end == nil)
        #expect(host.console.lines.isEmpty)
        try await eventually { host.console.lines.count == 2 }
        #expect(host.console.lines.allSatisfy { $0.contains("five seconds after it was cancelled") })
        #expect(stream.end == "cancelled")
        #expect(host.dispatcher.activeCount == 2)
        // Whoever serves them may do something about it.
        try await eventually { Set(host.provider.overdueCalls) == Set(host.provider.live.map(\.id)) }
        // Better late than never: the slots are free, and nothing more is said.
        for call in host.provider.live { if call.sink.isStream { call.sink.end(nil) } else { call.sink.reply(nil) } }
        #expect(host.dispatcher.activeCount == 0)
        #expect(host.console.lines.count == 2)
        #expect(stream.items.count == 1)
    }
}

extension FakeProvider {
    /// The live call with an id.
    func take(_ id: UInt64) -> FakeCall? { live.first { $0.id == id } }
}

extension Dispatcher {
    /// Ends one call as a revocation does.
    func revokeAll(_ id: UInt64) { active(id)?.revoke(Revocation(permission: "bluetooth").error) }
}
