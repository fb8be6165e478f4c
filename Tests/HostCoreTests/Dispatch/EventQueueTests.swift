import ApsuleKit
import Testing

@testable import HostCore

@Suite struct EventQueueTests {
    @Test func losslessHoldsThenResumesOnce() {
        var queue = EventQueue(.lossless)
        var holds = 0
        for _ in 0..<100 where queue.append("tick", .emptyObject) == .hold { holds += 1 }
        #expect(holds == 100 - EventQueue.highWater + 1)
        #expect(queue.takeResumes() == 0)
        while queue.next() != nil {}
        #expect(queue.takeResumes() == holds)
        #expect(queue.takeResumes() == 0)
    }

    @Test func losslessOverflowsAtItsCap() {
        var queue = EventQueue(.lossless)
        for _ in 0..<EventQueue.maximumCount { #expect(queue.append("tick", .emptyObject) != .overflow) }
        #expect(queue.append("tick", .emptyObject) == .overflow)
    }

    @Test func latestKeepsTheNewestAndSaysHowManyWent() {
        var queue = EventQueue(.latest)
        for index in 0..<300 { #expect(queue.append("tick", Payload(["n": .int(Int64(index))])) == .proceed) }
        let first = queue.next()
        #expect(first?.name == "dropped")
        #expect(first?.payload.value?["count"] == 44)
        #expect(queue.next()?.payload.value?["n"] == 44)
        var last: JSON?
        while let event = queue.next() { last = event.payload.value?["n"] }
        #expect(last == 299)
    }
}
