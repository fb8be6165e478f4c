import ApsuleKit

/// Decides what happens to the one discovery session of this instance; carries nothing out itself.
///
/// Members come and go, the adapter may be switched off and the daemon restarted, and a session may fall silent
/// although it looks alive. Each input returns what is to be done, in order.
struct DiscoveryMachine {
    /// What BlueZ may leave out; every member filters again by itself.
    struct Filter: Hashable, Sendable {
        /// Nil is all; BlueZ reports a device that advertises any of these.
        var services: Set<BluetoothUUID>?
        /// In dBm; nil is all.
        var minRssi: Int?
    }

    enum Action: Hashable, Sendable {
        case start(Filter)
        case update(Filter)
        case restart(Filter)
        case stop
        /// The session ends for a moment; whoever is part of it hears nothing meanwhile.
        case pause
        /// The session goes on after a pause.
        case goOn
        /// These members' scan runs now.
        case joined([Int])
        case failed([Int], HostError)
        case lost(HostError)
        case resubscribed
        case stalled(silence: Duration, restarts: Int)
        /// Look whether the adapter is usable again.
        case probe
    }

    private enum Phase { case idle, starting, running, stopping, lost, pausing, paused }

    /// Longer than the 10 s for which the kernel scans and the 5 s that BlueZ pauses before it scans again.
    static let silenceLimit = Duration.seconds(25)
    private static let probeInterval = Duration.seconds(2)

    private var phase = Phase.idle
    private var members: [Int: Filter] = [:]
    /// Members that wait for their first start.
    private var joining: Set<Int> = []
    private var applied = Filter()
    /// Whether members that ran before were told that the session is lost.
    private var isRecovering = false
    /// Whether members that ran before wait for the end of a pause.
    private var isContinuing = false
    /// How many want the radio to themselves.
    private var holds = 0
    /// Which start is under way; the outcome of an earlier one no longer counts.
    private(set) var attempt = 0
    private var quietSince = Duration.zero
    private var restarts = 0
    private var probed = Duration.zero

    var isIdle: Bool { phase == .idle && members.isEmpty }

    /// Whether no session of ours takes the radio's time.
    var isQuiet: Bool { [.idle, .paused, .lost].contains(phase) }

    /// The union of what the members want.
    private var merged: Filter {
        var services: Set<BluetoothUUID>? = []
        var minRssi: Int? = 0
        for filter in members.values {
            services = filter.services.flatMap { wanted in services?.union(wanted) }
            minRssi = filter.minRssi.flatMap { wanted in minRssi.map { min($0, wanted) } }
        }
        return members.isEmpty ? Filter() : Filter(services: services, minRssi: minRssi)
    }

    // MARK: - Members

    mutating func join(_ id: Int, _ filter: Filter) -> [Action] {
        members[id] = filter
        switch phase {
        case .idle, .lost:
            joining.insert(id)
            return start()
        case .starting, .stopping, .pausing, .paused:
            joining.insert(id)
            return []
        case .running: return update() + [.joined([id])]
        }
    }

    mutating func leave(_ id: Int) -> [Action] {
        guard members.removeValue(forKey: id) != nil else { return [] }
        joining.remove(id)
        guard members.isEmpty else { return phase == .running ? update() : [] }
        (isRecovering, isContinuing) = (false, false)
        switch phase {
        case .running:
            phase = .stopping
            return [.stop]
        case .lost, .paused:
            phase = .idle
            return []
        case .idle, .starting, .stopping, .pausing: return []
        }
    }

    private mutating func start() -> [Action] {
        guard holds == 0 else {
            phase = .paused
            return []
        }
        phase = .starting
        attempt += 1
        applied = merged
        return [.start(applied)]
    }

    private mutating func update() -> [Action] {
        guard merged != applied else { return [] }
        applied = merged
        return [.update(applied)]
    }

    // MARK: - Pauses

    /// Somebody wants the radio to itself, until `release`.
    mutating func hold() -> [Action] {
        holds += 1
        return phase == .running ? pause() : []
    }

    mutating func release() -> [Action] {
        holds -= 1
        return phase == .paused && holds == 0 ? start() : []
    }

    private mutating func pause() -> [Action] {
        phase = .pausing
        isContinuing = true
        return [.pause]
    }

    mutating func paused() -> [Action] {
        guard phase == .pausing else { return [] }
        phase = .idle
        return members.isEmpty ? [] : start()
    }

    // MARK: - Outcomes

    /// - Parameter attempt: which start has succeeded.
    mutating func started(at now: Duration, attempt: Int? = nil) -> [Action] {
        guard phase == .starting, attempt ?? self.attempt == self.attempt else { return [] }
        guard !members.isEmpty else {
            phase = .stopping
            return [.stop]
        }
        phase = .running
        quietSince = now
        var actions: [Action] = update()
        if isRecovering { actions.append(.resubscribed) } else if isContinuing { actions.append(.goOn) }
        (isRecovering, isContinuing) = (false, false)
        if !joining.isEmpty { actions.append(.joined(joining.sorted())) }
        joining = []
        return holds == 0 ? actions : actions + pause()
    }

    mutating func startFailed(_ error: HostError, at now: Duration, attempt: Int? = nil) -> [Action] {
        guard phase == .starting, attempt ?? self.attempt == self.attempt else { return [] }
        return lose(error, at: now)
    }

    /// There is no session: who waits for one fails, who had one is told.
    private mutating func lose(_ error: HostError, at now: Duration) -> [Action] {
        let failed = joining.sorted()
        for id in failed { members[id] = nil }
        joining = []
        var actions: [Action] = failed.isEmpty ? [] : [.failed(failed, error)]
        phase = members.isEmpty ? .idle : .lost
        probed = now
        if phase == .lost, !isRecovering {
            isRecovering = true
            actions.append(.lost(error))
        }
        return actions
    }

    mutating func stopped() -> [Action] {
        guard phase == .stopping else { return [] }
        phase = .idle
        return members.isEmpty ? [] : start()
    }

    // MARK: - What happens to the radio

    /// The session has ended without our doing: the adapter is off or gone, or the daemon is.
    ///
    /// - Parameter isBack: whether that is over already.
    mutating func interrupted(_ error: HostError, isBack: Bool = false, at now: Duration) -> [Action] {
        switch phase {
        case .starting:
            if isBack { return start() }
            attempt += 1
            return lose(error, at: now)
        case .running, .pausing, .paused: return lose(error, at: now)
        case .idle, .stopping, .lost: return []
        }
    }

    /// The adapter is usable.
    mutating func available() -> [Action] { phase == .lost && !members.isEmpty ? start() : [] }

    /// - Parameter heard: when the last advertisement of any device arrived.
    mutating func tick(at now: Duration, heard: Duration) -> [Action] {
        switch phase {
        case .running:
            if heard > quietSince { (quietSince, restarts) = (heard, 0) }
            // Where nothing advertises, a restart cannot help: try less and less often.
            let silence = now - quietSince
            guard silence >= Self.silenceLimit * min(restarts + 1, 8) else { return [] }
            restarts += 1
            phase = .starting
            attempt += 1
            return [.stalled(silence: silence, restarts: restarts), .restart(applied)]
        case .lost where now - probed >= Self.probeInterval:
            probed = now
            return [.probe]
        default: return []
        }
    }
}
