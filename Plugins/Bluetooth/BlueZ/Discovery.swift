import ApsuleDBus
import ApsuleKit
internal import Synchronization

/// The one owner of this instance's discovery session at BlueZ, shared by every scan and every connect that looks for
/// its device.
actor Discovery {
    enum Signal: Sendable {
        /// The session has ended; it is started again as soon as that is possible.
        case lost(HostError)
        case resubscribed
        /// Nothing can be heard for a moment, because a device is being connected.
        case paused
        case goesOn
        case stalled(silence: Duration, restarts: Int)
    }

    private struct Member {
        let joined = OneShot<Void>()
        let sink: @Sendable (Signal) -> Void
    }

    private let radio: Radio
    private var machine = DiscoveryMachine()
    private var members: [Int: Member] = [:]
    private var nextMember = 0
    private var ticker: Task<Void, Never>?
    private var listening: Subscription?
    /// Interruptions that were acted upon.
    private var handledInterruptions = 0
    private var pauses: Set<Int> = []
    /// Who waits for the session to be quiet, by their pause.
    private var waiting: [Int: OneShot<Void>] = [:]
    private let seen = Mutex(Seen())

    /// What the D-Bus thread notes.
    private struct Seen {
        var heard = Duration.zero
        /// How often the adapter that discovers, or the daemon, went away.
        var interruptions = 0
        var adapter: String?
    }

    init(radio: Radio) { self.radio = radio }

    // MARK: - Members

    /// Joins the session, starting it where it is not running, and returns once it runs.
    ///
    /// - Parameter sink: told what happens to the session; runs on the actor and must not block.
    /// - Returns: what `leave` takes.
    func join(
        _ filter: DiscoveryMachine.Filter, _ sink: @escaping @Sendable (Signal) -> Void
    ) async throws(HostError) -> Int {
        listen()
        nextMember += 1
        let id = nextMember
        let member = Member(sink: sink)
        members[id] = member
        perform(machine.join(id, filter))
        do {
            try await member.joined.value()
            return id
        } catch {
            leave(id)
            throw error as? HostError ?? .cancelled
        }
    }

    func leave(_ id: Int) {
        members[id] = nil
        perform(machine.leave(id))
    }

    // MARK: - Pauses

    /// A radio that scans hears a device's answer late: with duplicates filtered, a link takes until the next round.
    private static let longestPause = Duration.seconds(5)

    /// Ends the session for a moment and returns once that is done; it goes on when the pause is cancelled, and after
    /// five seconds in any case.
    func pause() async -> Subscription {
        nextMember += 1
        let id = nextMember
        pauses.insert(id)
        perform(machine.hold())
        Task {
            try? await Task.sleep(for: Self.longestPause)
            self.goOn(id)
        }
        if !machine.isQuiet {
            let quiet = OneShot<Void>()
            waiting[id] = quiet
            try? await quiet.value()
        }
        return Subscription { [weak self] in Task { await self?.goOn(id) } }
    }

    private func goOn(_ id: Int) {
        waiting.removeValue(forKey: id)?.finish(.success(()))
        if pauses.remove(id) != nil { perform(machine.release()) }
    }

    // MARK: - What the machine decides

    private func perform(_ actions: [DiscoveryMachine.Action]) {
        for action in actions {
            switch action {
            case .start(let filter): carryOut { () async throws(HostError) in try await self.start(filter) }
            case .restart(let filter):
                carryOut { () async throws(HostError) in
                    await self.stop()
                    try await self.start(filter)
                }
            case .update(let filter): Task { try? await self.setFilter(filter) }
            case .stop:
                Task {
                    await self.stop()
                    self.perform(self.machine.stopped())
                }
            case .pause:
                tell(.paused)
                Task {
                    await self.stop()
                    self.perform(self.machine.paused())
                }
            case .goOn: tell(.goesOn)
            case .joined(let ids): for id in ids { members[id]?.joined.finish(.success(())) }
            case .failed(let ids, let error): for id in ids { members[id]?.joined.finish(.failure(error)) }
            case .lost(let error): tell(.lost(error))
            case .resubscribed: tell(.resubscribed)
            case .stalled(let silence, let restarts): tell(.stalled(silence: silence, restarts: restarts))
            case .probe:
                Task {
                    _ = try? await radio.bluez.connection()
                    self.look()
                }
            }
        }
        if machine.isQuiet {
            for quiet in waiting.values { quiet.finish(.success(())) }
            waiting = [:]
        }
        watchTime()
    }

    private func carryOut(_ start: @escaping () async throws(HostError) -> Void) {
        let attempt = machine.attempt
        // What happened before does not concern this start.
        handledInterruptions = seen.withLock { $0.interruptions }
        Task {
            do throws(HostError) {
                try await start()
                self.perform(self.machine.started(at: Self.now, attempt: attempt))
                // An earlier start that succeeded late has made a session that nobody wants.
                if self.machine.isIdle { await self.stop() }
            } catch {
                let reason = self.radio.problem() ?? error
                self.perform(self.machine.startFailed(reason, at: Self.now, attempt: attempt))
            }
        }
    }

    private func tell(_ signal: Signal) { for member in members.values { member.sink(signal) } }

    // MARK: - BlueZ

    private func start(_ filter: DiscoveryMachine.Filter) async throws(HostError) {
        let adapter = try await radio.adapter()
        seen.withLock { $0.adapter = adapter.path }
        if let problem = radio.problem() { throw problem }
        try await setFilter(filter)
        do throws(HostError) {
            try await call("StartDiscovery")
        } catch {
            guard error.code == "bluetooth.in_progress" else { throw error }
            // A session of this connection that a failed stop left behind.
            await stop()
            try await call("StartDiscovery")
        }
    }

    private func setFilter(_ filter: DiscoveryMachine.Filter) async throws(HostError) {
        guard let adapter = seen.withLock({ $0.adapter }) else { return }
        try await radio.bluez.call(
            adapter, "org.bluez.Adapter1", "SetDiscoveryFilter", filter.options, context: .adapter)
    }

    /// Whatever BlueZ says to this, the session is over.
    private func stop() async { try? await call("StopDiscovery") }

    private func call(_ method: String) async throws(HostError) {
        guard let adapter = seen.withLock({ $0.adapter }) else { return }
        try await radio.bluez.call(adapter, "org.bluez.Adapter1", method, context: .adapter)
    }

    // MARK: - What happens to the radio

    private func listen() {
        guard listening == nil else { return }
        listening = radio.bluez.listen { [weak self] change in
            guard let self else { return }
            switch change {
            case .object(.device(_, let isHeard)):
                if isHeard { self.seen.withLock { $0.heard = Self.now } }
            case .object(.adapter(let path)):
                let isUsable = self.radio.bluez.read { $0.adapters[path]?.isPowered } ?? false
                self.seen.withLock { if !isUsable, $0.adapter == path { $0.interruptions += 1 } }
                Task { await self.look() }
            case .daemon(let isRunning):
                if !isRunning { self.seen.withLock { $0.interruptions += 1 } }
                Task { await self.look() }
            case .object: break
            }
        }
    }

    /// Compares what the machine believes with how the radio is now.
    private func look() {
        let interruptions = seen.withLock { $0.interruptions }
        let problem = radio.problem()
        if interruptions != handledInterruptions {
            handledInterruptions = interruptions
            let moment = BluezErrors.make("interrupted", "The adapter or the Bluetooth daemon was away for a moment.")
            perform(machine.interrupted(problem ?? moment, isBack: problem == nil, at: Self.now))
        }
        if problem == nil { perform(machine.available()) }
    }

    private func watchTime() {
        if machine.isIdle {
            ticker?.cancel()
            ticker = nil
        } else if ticker == nil {
            ticker = Task { [weak self] in
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(500))
                    await self?.tick()
                }
            }
        }
    }

    private func tick() { perform(machine.tick(at: Self.now, heard: seen.withLock { $0.heard })) }

    private static let epoch = ContinuousClock.now
    private static var now: Duration { ContinuousClock.now - epoch }
}
