internal import ApsuleKit
internal import Synchronization

/// One call from its start to its terminal: the caller's `RunningCall`, and the provider's `CallSink`.
///
/// Whoever changes the phase under the lock speaks to the observer after it: so there is one answer and one last item,
/// whatever races.
final class ActiveCall: RunningCall, CallSink, Sendable {
    let id: UInt64
    let operation: OperationDescriptor
    let question: Question
    var isStream: Bool { operation.kind == .stream }
    let observer: any CallObserver
    // Together with `Dispatcher.calls` a cycle, which the call's terminal or the dispatcher's end breaks: a provider may
    // hold on to a call for longer than anybody holds the dispatcher.
    let dispatcher: Dispatcher
    let state: Mutex<State>

    enum Phase {
        /// Permission is being asked for, or a thread is waited for; no provider knows of the call.
        case starting
        /// The provider runs; nothing has been answered.
        case running
        /// A stream is open.
        case open
        /// The caller has its last word; the provider still owes its terminal.
        case abandoned
        /// Nothing more will happen.
        case ended
    }

    struct State {
        var phase = Phase.starting
        var family: OpenFamily?
        /// The provider's `invoke` has not returned yet.
        var isInvoking = false
        var deadline: Int64 = .max
        var queue: EventQueue
        /// What the receiver gets after the last event.
        var last: StreamItem?
        var cancelReason: String?
        /// The receiver knows that there is something to take, and has not yet taken it all.
        var hasNotified = false
        /// The answer is on its way to the observer, which must hear of it before it hears of events.
        var isAnswering = false
        /// A person approved this one call.
        var isOnce = false
        /// What the gate said about scope values of this call; a revocation ends the call, and its memory with it.
        var scopes: [String: Bool] = [:]

        /// The family to which a call belongs that nobody waits for any more.
        var cancelled: OpenFamily? { phase == .abandoned || cancelReason != nil && phase == .open ? family : nil }

        /// Whether the observer is to be told now that there is something to take.
        mutating func tells() -> Bool {
            guard phase != .running, !hasNotified, !isAnswering, !queue.isEmpty || last != nil else { return false }
            hasNotified = true
            return true
        }
    }

    init(
        _ id: UInt64, _ operation: OperationDescriptor, _ question: Question, observer: any CallObserver,
        dispatcher: Dispatcher
    ) {
        (self.id, self.operation, self.question) = (id, operation, question)
        (self.observer, self.dispatcher) = (observer, dispatcher)
        state = Mutex(State(queue: EventQueue(operation.delivery)))
    }

    // MARK: - The dispatcher's side

    /// The call is allowed; from now on its time counts, also while it waits for a thread.
    func admit(deadline: Int64, once: Bool) {
        state.withLock { state in
            guard state.phase == .starting else { return }
            (state.deadline, state.isOnce) = (deadline, once)
        }
    }

    /// Whether anybody still waits for its start.
    var isStarting: Bool { state.withLock { $0.phase == .starting } }

    /// Hands the call to its provider; false when it was cancelled meanwhile.
    func begin(_ family: OpenFamily) -> Bool {
        state.withLock { state in
            guard state.phase == .starting else { return false }
            (state.phase, state.family, state.isInvoking) = (.running, family, true)
            return true
        }
    }

    /// The provider has taken the call.
    ///
    /// A cancel that came while it did may have come before it knew of the call.
    func invoked() {
        let cancelled = state.withLock { state in
            state.isInvoking = false
            return state.cancelled
        }
        cancelProvider(cancelled)
    }

    /// Ends a call that no provider has seen: denied, or its family cannot be opened.
    func refuse(_ error: HostError) { giveUp(error) }

    /// Ends a call that is late, or a cancelled one whose provider never answered.
    func expire(now: Int64) {
        let (phase, cancelled) = state.withLock { state -> (Phase?, OpenFamily?) in
            // A plugin that blocks inside invoke may have been cancelled a moment before it took note of the call.
            let cancelled = state.isInvoking ? state.cancelled : nil
            guard state.deadline <= now else { return (nil, cancelled) }
            state.deadline = .max
            return (state.phase, cancelled)
        }
        cancelProvider(cancelled)
        switch phase {
        case .starting, .running:
            giveUp(
                HostError(
                    "host.timeout", "\(operation.fullName) took longer than its timeout.",
                    details: ["operation": .string(operation.fullName)]))
        case .open:
            // Five seconds after cancel no final value has come.
            conclude(owed: true) { .end(nil, reason: $0.cancelReason ?? "cancelled") }
            complainOfLeak()
        case .abandoned: complainOfLeak()
        case .ended, nil: break
        }
    }

    /// Ends the call because its permission is gone: what it has delivered and nobody took is gone too.
    func revoke(_ error: HostError) { end(with: error, keepsEvents: false) }

    /// Ends the call with an error now; the provider is told, and its own terminal is dropped when it comes.
    func end(with error: HostError, keepsEvents: Bool) {
        let (isOpen, family, tells) = state.withLock { state -> (Bool, OpenFamily?, Bool) in
            guard state.phase == .open else { return (false, nil, false) }
            if !keepsEvents { state.queue.clear() }
            state.phase = .abandoned
            state.deadline = Clock.now + Self.patience
            state.last = .failed(error)
            return (true, state.family, state.tells())
        }
        guard isOpen else { return giveUp(error) }
        cancelProvider(family)
        if tells { observer.eventsReady(self) }
    }

    /// How long a cancelled provider may take for its terminal.
    static let patience: Int64 = 5_000

    // MARK: - The caller's side

    func cancel() {
        let (phase, family) = state.withLock { state -> (Phase, OpenFamily?) in
            if state.phase == .open {
                if state.cancelReason != nil { return (.ended, nil) }
                state.cancelReason = "cancelled"
                state.deadline = Clock.now + Self.patience
            }
            return (state.phase, state.family)
        }
        switch phase {
        case .starting, .running: giveUp(.cancelled)
        case .open: cancelProvider(family)
        case .abandoned, .ended: break
        }
    }

    func next() -> StreamItem? {
        let (item, resumes, family) = state.withLock { state -> (StreamItem?, Int, OpenFamily?) in
            if let event = state.queue.next() {
                return (.event(name: event.name, event.payload), state.queue.takeResumes(), state.family)
            }
            state.hasNotified = false
            defer { state.last = nil }
            return (state.last, 0, nil)
        }
        if resumes > 0, let family {
            // Never on this stack: the plugin may be in `event` just now.
            dispatcher.control.submit { [id] in
                for _ in 0..<resumes { family.enter { $0.resume(id) } }
            }
        }
        return item
    }

    // MARK: - Ends

    /// Ends a stream as its provider says, or, where the provider still owes that, for it.
    func conclude(owed: Bool = false, _ last: (State) -> StreamItem) {
        let (phase, tells) = state.withLock { state -> (Phase, Bool) in
            let phase = state.phase
            if phase == .open { state.last = last(state) }
            state.phase = owed && phase != .ended ? .abandoned : .ended
            state.deadline = .max
            return (phase, state.tells())
        }
        if !owed { dispatcher.remove(self) }
        if phase == .ended, !owed { dispatcher.complain(self, "ended after its terminal; that is dropped") }
        if tells { observer.eventsReady(self) }
    }

    /// Answers with an error now; the provider is told, and its own terminal is dropped when it comes.
    private func giveUp(_ error: HostError) {
        let (before, family) = state.withLock { state -> (Phase, OpenFamily?) in
            let before = state.phase
            if before == .starting { state.phase = .ended }
            if before == .running {
                state.phase = .abandoned
                state.deadline = Clock.now + Self.patience
                state.queue.clear()
            }
            return (before, state.family)
        }
        guard before == .starting || before == .running else { return }
        if before == .starting { dispatcher.remove(self) }
        observer.answered(self, .failure(error))
        cancelProvider(family)
    }

    func cancelProvider(_ family: OpenFamily?) {
        guard let family else { return }
        dispatcher.control.submit { [id] in family.enter { $0.cancel(id) } }
    }

    private func complainOfLeak() {
        dispatcher.complain(self, "has not ended five seconds after it was cancelled")
        guard let family = state.withLock({ $0.family }) else { return }
        dispatcher.control.submit { [id] in family.enter { $0.overdue(id) } }
    }
}
