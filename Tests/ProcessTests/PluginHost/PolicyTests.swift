import Testing

@testable import HostCore

struct RestartPolicyTests {
    @Test func startsAgainAtOnceThenLaterThenNotAtAll() {
        var policy = RestartPolicy()
        #expect(policy.verdict(at: 0) == .start)
        policy.crashed(at: 1_000)
        #expect(policy.verdict(at: 1_000) == .start)
        policy.crashed(at: 2_000)
        #expect(policy.verdict(at: 2_100) == .wait(900))
        #expect(policy.verdict(at: 3_000) == .start)
        policy.crashed(at: 3_500)
        #expect(policy.verdict(at: 3_500) == .stopped(3))
        #expect(policy.verdict(at: 300_999) == .stopped(3))
        // Five minutes after the first of them there are only two.
        #expect(policy.verdict(at: 301_001) == .start)
        policy.crashed(at: 301_100)
        #expect(policy.verdict(at: 301_100) == .stopped(3))
        policy.reset()
        #expect(policy.verdict(at: 301_100) == .start)
    }

    @Test func forgetsOldCrashes() {
        var policy = RestartPolicy(maximumCrashes: 1_000_000, withinMs: 10, pauseMs: 0)
        for time in 0..<10_000 { policy.crashed(at: Int64(time) * 100) }
        #expect(policy.verdict(at: 1_000_000) == .start)
    }
}

struct StreamWindowTests {
    @Test func holdsAtTheEndOfTheWindowAndOwesOneResumeAHold() {
        var sender = StreamWindow.Sender()
        for _ in 1..<StreamWindow.events {
            let mustHold = sender.spend(10)
            #expect(!mustHold)
        }
        // It does not listen and sends two more: three holds.
        for _ in 0..<3 {
            let mustHold = sender.spend(10)
            #expect(mustHold)
        }
        let early = sender.grant(events: 2, bytes: 20)
        let enough = sender.grant(events: 32, bytes: 320)
        let further = sender.grant(events: 32, bytes: 320)
        #expect([early, enough, further] == [0, 3, 0])
    }

    @Test func holdsAfterOneLargeEvent() {
        var sender = StreamWindow.Sender()
        let mustHold = sender.spend(5 << 20)
        let resumes = sender.grant(events: 1, bytes: 5 << 20)
        #expect(mustHold && resumes == 1)
    }

    @Test func grantsHalfAWindowAtATimeAndNothingWhileHeld() {
        var receiver = StreamWindow.Receiver()
        var due: [Int] = []
        for _ in 0..<(StreamWindow.events / 2) { due.append(receiver.took(1, isHeld: false)?.events ?? 0) }
        #expect(due.dropLast().allSatisfy { $0 == 0 } && due.last == StreamWindow.events / 2)
        due = []
        for _ in 0..<StreamWindow.events { due.append(receiver.took(1, isHeld: true)?.events ?? 0) }
        for _ in 0..<StreamWindow.events { due.append(receiver.resumed()?.events ?? 0) }
        #expect(due.dropLast().allSatisfy { $0 == 0 } && due.last == StreamWindow.events)
    }

    /// The resume of an event may come before `event` has returned what it answered.
    @Test func takesAResumeBeforeItsHold() {
        var receiver = StreamWindow.Receiver()
        for _ in 1..<(StreamWindow.events / 2) { _ = receiver.took(1, isHeld: false) }
        let resumed = receiver.resumed()
        let took = receiver.took(1, isHeld: true)
        #expect(resumed == nil && took?.events == StreamWindow.events / 2)
    }

    /// Whatever the sizes, sender and receiver never wait for each other.
    @Test func neverStalls() {
        var random = Random(seed: 3)
        for _ in 0..<200 {
            var sender = StreamWindow.Sender()
            var receiver = StreamWindow.Receiver()
            var isHeld = false
            for _ in 0..<500 {
                let size = Int.random(in: 0...(Bool.random(using: &random) ? 100 : 3 << 20), using: &random)
                isHeld = sender.spend(size)
                if let due = receiver.took(size, isHeld: false), sender.grant(events: due.events, bytes: due.bytes) > 0
                {
                    isHeld = false
                }
                #expect(!isHeld)
            }
        }
    }
}
