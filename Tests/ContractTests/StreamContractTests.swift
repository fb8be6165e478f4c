import ApsuleKit
import Foundation
import HostCore
import Synchronization
import Testing

/// Streams of the C plugin: order, flow control, and how they end.
@Suite(.serialized)
struct StreamContractTests {
    private func handle(_ call: Served.Running) -> RecordingSink.Said { .reply(["streamId": .string("s\(call.id)")]) }

    @Test(arguments: Place.allCases) func deliversInOrderAndEndsWithAValue(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        for (n, size) in [(0, 0), (1, 0), (2_000, 0), (300, 100), (40, 200_000)] {
            let call = served.start("count", ["n": .int(Int64(n)), "size": .int(Int64(size))])
            let sink = try await call.done()
            #expect(sink.said.first == handle(call))
            #expect(sink.numbers == (0..<n).map(Int64.init))
            guard case .end(let final) = sink.said.last else {
                Issue.record("\(String(describing: sink.said.last))")
                continue
            }
            #expect(final?["sent"]?.intValue == Int64(n) && final?["cancelled"] == false)
            #expect(
                sink.payloads.dropFirst().dropLast().allSatisfy { $0.blobs.map(\.count) == (size > 0 ? [size] : []) })
        }
    }

    /// Nobody takes anything for a while: the plugin waits, and goes on where it was.
    @Test(arguments: Place.allCases) func holdsUntilResumed(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let holding = Atomic(true)
        let held = Mutex(0)
        let hooks = RecordingSink.Hooks(event: { _ in
            guard holding.load(ordering: .sequentiallyConsistent) else { return .proceed }
            held.withLock { $0 += 1 }
            return .hold
        })
        let call = served.start("count", ["n": 500], hooks: hooks)
        try await eventually { call.sink.eventCount > 0 }
        try await Task.sleep(for: .milliseconds(200))
        // In another process some more may be under way, but never more than a window.
        let early = call.sink.eventCount
        #expect(early <= (place == .inProcess ? 1 : 65))
        #expect(!call.sink.isDone)
        holding.store(false, ordering: .sequentiallyConsistent)
        for _ in 0..<held.withLock({ $0 }) { call.resume() }
        let sink = try await call.done()
        #expect(sink.numbers == (0..<500).map(Int64.init))
    }

    /// The resume of each hold comes while `event` is still on the plugin's stack.
    @Test(arguments: Place.allCases) func takesAResumeBeforeEventHasReturned(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let running = Later<Served.Running>()
        let hooks = RecordingSink.Hooks(event: { _ in
            let done = DispatchSemaphore(value: 0)
            HostCore.Thread.start(name: "resume") {
                running.get().resume()
                done.signal()
            }
            // In this process resume must come back before event does; in another it is a frame that is on its way.
            done.wait()
            return .hold
        })
        let call = served.start("count", ["n": 300, "ms": 1], hooks: hooks)
        running.set(call)
        let sink = try await call.done()
        #expect(sink.numbers.count == 300)
        if place == .inProcess {
            guard case .end(let final) = sink.said.last else { return }
            #expect(final?["holds"] == 300)
        }
    }

    /// Its cancel and resume take the lock that it holds while it calls the host.
    @Test(arguments: Place.allCases) func letsAPluginHoldItsOwnLock(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let running = Later<Served.Running>()
        let hooks = RecordingSink.Hooks(event: { index in
            guard index % 3 == 0 else { return .proceed }
            HostCore.Thread.start(name: "resume") { running.get().resume() }
            return .hold
        })
        let call = served.start("locked", ["n": 300], hooks: hooks)
        running.set(call)
        #expect(try await call.done().numbers.count == 300)
        let endless = served.start("locked", ["n": 1_000_000, "ms": 1])
        try await eventually { endless.sink.eventCount > 5 }
        endless.cancel()
        #expect(try await endless.done().terminals == 1)
    }

    @Test(arguments: Place.allCases) func survivesAPluginThatDoesNotListen(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let call = served.start("flood", ["n": 20_000], hooks: .init(event: { _ in .hold }))
        let sink = try await call.done(seconds: 60)
        #expect(sink.numbers == (0..<20_000).map(Int64.init))
        // Somebody who has enough says stop, and hears no more of it before long.
        let stopped = served.start("flood", ["n": 1_000_000], hooks: .init(event: { $0 < 100 ? .proceed : .stop }))
        try await stopped.done(seconds: 60)
        #expect(stopped.sink.eventCount < 200_000)
    }

    @Test(arguments: Place.allCases) func takesEventsBeforeTheReply(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let call = served.start("early", ["n": 10])
        let sink = try await call.done()
        #expect(sink.said.firstIndex(of: handle(call)) == 10)
        #expect(sink.numbers == (0..<20).map(Int64.init))
    }

    @Test(arguments: Place.allCases) func endsWithAValueAfterCancel(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        for (operation, arguments) in [("ticks", ["ms": 2] as JSON), ("stubborn", ["ms": 100])] {
            let call = served.start(operation, arguments)
            try await eventually { call.sink.eventCount > 2 }
            call.cancel()
            let sink = try await call.done()
            guard case .end(let final) = sink.said.last else {
                Issue.record("\(operation): \(String(describing: sink.said.last))")
                continue
            }
            #expect(final?["cancelled"] == true)
            #expect(final?["sent"]?.intValue == Int64(sink.eventCount))
            #expect(sink.terminals == 1)
        }
    }

    @Test(arguments: Place.allCases) func failsInTheMiddle(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let sink = try await served.start("failing", ["n": 5]).done()
        #expect(sink.eventCount == 5)
        #expect(sink.errors == [HostError("everything.failed", "It broke.")])
        #expect(sink.said.last == .fail("everything.failed"))
    }

    @Test(arguments: Place.allCases) func dropsWhatComesAfterTheEnd(_ place: Place) async throws {
        let served = try Served(place)
        defer { served.provider.close() }
        let call = served.start("over")
        let sink = try await call.done()
        _ = try await served.call("nothing")
        #expect(sink.terminals == 1)
        #expect(sink.eventCount == 0)
    }
}
