import ApsuleKit
import TestHost
import Testing
import TimerPlugin

@Suite struct SleepTests {
    let host: TestHost
    init() throws { host = try TestHost("timer", TimerPlugin.entry) }

    @Test(arguments: [0, 1, 20, 20.5])
    func neverReturnsEarly(_ milliseconds: Double) async throws {
        let start = ContinuousClock.now
        #expect(try await host.call("sleep", ["ms": .double(milliseconds)]) == .null)
        #expect(ContinuousClock.now - start >= .milliseconds(milliseconds))
    }

    @Test func cancellingEndsIt() async throws {
        let sleep = host.start("sleep", ["ms": 2_147_483_647])
        try await Task.sleep(for: .milliseconds(20))
        sleep.cancel()
        #expect(await failure { try await sleep.answer() }?.code == "host.cancelled")
        #expect(host.violations.isEmpty)
    }

    /// A thousand that wait leave room for one more: none of them has a thread.
    @Test func waitingHoldsNoThread() async throws {
        let sleeps = (0..<1000).map { _ in host.start("sleep", ["ms": 2_147_483_647]) }
        #expect(try await host.call("sleep", ["ms": 1]) == .null)
        for sleep in sleeps { sleep.cancel() }
        for sleep in sleeps { #expect(await failure { try await sleep.answer() }?.code == "host.cancelled") }
    }

    @Test func closingEndsWhatRuns() async throws {
        let host = try TestHost("timer", TimerPlugin.entry)
        let sleep = host.start("sleep", ["ms": 60_000])
        try await Task.sleep(for: .milliseconds(20))
        host.close()
        #expect(await failure { try await sleep.answer() }?.code == "host.cancelled")
        #expect(host.violations.isEmpty)
    }
}
