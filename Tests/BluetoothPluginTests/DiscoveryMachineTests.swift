import ApsuleKit
import Testing

@testable import BluetoothPlugin

@Suite struct DiscoveryMachineTests {
    typealias Filter = DiscoveryMachine.Filter
    static let heart = BluetoothUUID(short: 0x180d)
    static let battery = BluetoothUUID(short: 0x180f)
    private let off = BluezErrors.adapterOff

    private func running(_ filter: Filter = Filter()) -> DiscoveryMachine {
        var machine = DiscoveryMachine()
        _ = machine.join(1, filter)
        _ = machine.started(at: .zero)
        return machine
    }

    @Test func oneSessionServesAll() {
        var machine = DiscoveryMachine()
        #expect(machine.join(1, Filter()) == [.start(Filter())])
        #expect(machine.join(2, Filter()) == [])
        #expect(machine.started(at: .zero) == [.joined([1, 2])])
        #expect(machine.join(3, Filter()) == [.joined([3])])
        #expect(machine.leave(1) == [] && machine.leave(3) == [])
        #expect(machine.leave(2) == [.stop])
        #expect(machine.leave(2) == [])
        #expect(machine.stopped() == [])
        #expect(machine.isIdle)
    }

    @Test func filtersAreMerged() {
        var machine = DiscoveryMachine()
        let first = Filter(services: [Self.heart], minRssi: -60)
        #expect(machine.join(1, first) == [.start(first)])
        _ = machine.started(at: .zero)
        let both = Filter(services: [Self.heart, Self.battery], minRssi: -80)
        #expect(machine.join(2, Filter(services: [Self.battery], minRssi: -80)) == [.update(both), .joined([2])])
        #expect(machine.join(3, Filter()) == [.update(Filter()), .joined([3])])
        #expect(machine.leave(3) == [.update(both)])
        #expect(machine.leave(2) == [.update(first)])
    }

    @Test func whoJoinsWhileItStartsIsServedToo() {
        var machine = DiscoveryMachine()
        _ = machine.join(1, Filter(services: [Self.heart]))
        _ = machine.join(2, Filter())
        #expect(machine.started(at: .zero) == [.update(Filter()), .joined([1, 2])])
    }

    @Test func whoLeavesWhileItStartsEndsIt() {
        var machine = DiscoveryMachine()
        _ = machine.join(1, Filter())
        #expect(machine.leave(1) == [])
        #expect(machine.started(at: .zero) == [.stop])
        #expect(machine.join(2, Filter()) == [])
        #expect(machine.stopped() == [.start(Filter())])
        #expect(machine.started(at: .zero) == [.joined([2])])
    }

    @Test func aStartThatFailsIsTold() {
        var machine = DiscoveryMachine()
        _ = machine.join(1, Filter())
        #expect(machine.startFailed(off, at: .zero) == [.failed([1], off)])
        #expect(machine.isIdle)
        #expect(machine.join(2, Filter()) == [.start(Filter())])
    }

    @Test func theRadioGoesAndComesBack() {
        var machine = running()
        #expect(machine.interrupted(off, at: .seconds(1)) == [.lost(off)])
        #expect(machine.interrupted(off, at: .seconds(1)) == [])
        #expect(machine.tick(at: .seconds(2), heard: .zero) == [])
        #expect(machine.tick(at: .seconds(3), heard: .zero) == [.probe])
        #expect(machine.tick(at: .seconds(4), heard: .zero) == [])
        #expect(machine.available() == [.start(Filter())])
        #expect(machine.available() == [])
        #expect(machine.startFailed(off, at: .seconds(5)) == [])
        #expect(machine.available() == [.start(Filter())])
        #expect(machine.started(at: .seconds(6)) == [.resubscribed])
        #expect(machine.tick(at: .seconds(7), heard: .zero) == [])
    }

    @Test func whoJoinsWhileItIsAwayFailsAloneWhereItStaysAway() {
        var machine = running()
        _ = machine.interrupted(off, at: .seconds(1))
        #expect(machine.join(2, Filter()) == [.start(Filter())])
        #expect(machine.startFailed(off, at: .seconds(1)) == [.failed([2], off)])
        #expect(machine.available() == [.start(Filter())])
        #expect(machine.started(at: .seconds(2)) == [.resubscribed])
    }

    @Test func whoLeavesWhileItIsAwayLeavesNothingBehind() {
        var machine = running()
        _ = machine.interrupted(off, at: .seconds(1))
        #expect(machine.leave(1) == [])
        #expect(machine.isIdle && machine.available() == [] && machine.tick(at: .seconds(9), heard: .zero) == [])
        #expect(machine.join(2, Filter()) == [.start(Filter())])
        #expect(machine.started(at: .seconds(9)) == [.joined([2])])
    }

    @Test func aSilentSessionIsStartedAgainLessAndLessOften() {
        var machine = running()
        #expect(machine.tick(at: .seconds(24), heard: .zero) == [])
        #expect(
            machine.tick(at: .seconds(25), heard: .zero)
                == [.stalled(silence: .seconds(25), restarts: 1), .restart(Filter())])
        #expect(machine.tick(at: .seconds(26), heard: .zero) == [])
        #expect(machine.started(at: .seconds(26)) == [])
        #expect(machine.tick(at: .seconds(60), heard: .zero) == [])
        #expect(
            machine.tick(at: .seconds(76), heard: .zero)
                == [.stalled(silence: .seconds(50), restarts: 2), .restart(Filter())])
        _ = machine.started(at: .seconds(77))
        #expect(machine.tick(at: .seconds(80), heard: .seconds(79)) == [])
        #expect(
            machine.tick(at: .seconds(104), heard: .seconds(79))
                == [.stalled(silence: .seconds(25), restarts: 1), .restart(Filter())])
    }

    /// A restart that fails is a session that is lost, and is tried again.
    @Test func aRestartThatFailsIsTold() {
        var machine = running()
        _ = machine.tick(at: .seconds(25), heard: .zero)
        #expect(machine.startFailed(off, at: .seconds(26)) == [.lost(off)])
        #expect(machine.available() == [.start(Filter())])
        #expect(machine.started(at: .seconds(27)) == [.resubscribed])
    }

    @Test func whatHappensToASessionThatIsBeingStoppedIsNoMatter() {
        var machine = running()
        _ = machine.leave(1)
        #expect(machine.interrupted(off, at: .zero) == [] && machine.available() == [])
        #expect(machine.started(at: .zero) == [] && machine.startFailed(off, at: .zero) == [])
        #expect(machine.stopped() == [] && machine.stopped() == [])
    }

    @Test func aPauseEndsTheSessionForAMoment() {
        var machine = running()
        #expect(machine.hold() == [.pause] && !machine.isQuiet)
        #expect(machine.hold() == [])
        #expect(machine.paused() == [] && machine.isQuiet)
        #expect(machine.tick(at: .seconds(60), heard: .zero) == [], "nobody is silent who cannot be heard")
        #expect(machine.join(2, Filter()) == [])
        #expect(machine.release() == [])
        #expect(machine.release() == [.start(Filter())])
        #expect(machine.started(at: .seconds(61)) == [.goOn, .joined([2])])
        #expect(machine.tick(at: .seconds(62), heard: .zero) == [])
    }

    @Test func aPauseThatIsOverBeforeItBeganStartsAgain() {
        var machine = running()
        _ = machine.hold()
        #expect(machine.release() == [])
        #expect(machine.paused() == [.start(Filter())])
    }

    @Test func aPauseWaitsForAStart() {
        var machine = DiscoveryMachine()
        _ = machine.join(1, Filter())
        #expect(machine.hold() == [] && !machine.isQuiet)
        #expect(machine.started(at: .zero) == [.joined([1]), .pause])
        #expect(machine.leave(1) == [])
        #expect(machine.paused() == [] && machine.isIdle)
        #expect(machine.join(2, Filter()) == [] && machine.release() == [.start(Filter())])
    }

    @Test func aRadioThatGoesInAPauseIsTold() {
        var machine = running()
        _ = machine.hold()
        #expect(machine.interrupted(off, at: .zero) == [.lost(off)])
        #expect(machine.paused() == [] && machine.available() == [])
        #expect(machine.release() == [.start(Filter())])
        #expect(machine.started(at: .zero) == [.resubscribed])
    }

    @Test func aRadioThatGoesEndsAStartAtOnce() {
        var machine = DiscoveryMachine()
        _ = machine.join(1, Filter())
        let first = machine.attempt
        #expect(machine.interrupted(off, at: .zero) == [.failed([1], off)])
        _ = machine.join(2, Filter())
        #expect(machine.started(at: .zero, attempt: first) == [], "the late outcome of the first start")
        #expect(machine.startFailed(off, at: .zero, attempt: first) == [])
        #expect(machine.interrupted(off, isBack: true, at: .zero) == [.start(Filter())])
        #expect(machine.started(at: .zero, attempt: machine.attempt) == [.joined([2])])
    }
}
