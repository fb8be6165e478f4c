internal import ApsuleKit
internal import Synchronization

/// One call from its start to its terminal: the caller's `RunningCall` and the provider's `CallSink`.
final class ActiveCall: RunningCall, CallSink, Sendable {
    let id: UInt64
    let operation: OperationDescriptor
    var isStream: Bool { operation.kind == .stream }
    private let observer: any CallObserver
    private unowned let dispatcher: Dispatcher
    private let state: Mutex<State>

    private enum Phase {
        /// Arguments and permission are being looked at; no provider knows of the call.
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

    private struct State {
        var phase = Phase.starting
        var provider: (any Provider)?
        var deadline: Int64 = .max
        var queue: EventQueue
        var last: StreamItem?
        var cancelReason: String?
        var hasNotified = false
    }

    init(
        _ id: UInt64, _ operation: OperationDescriptor, observer: any CallObserver, dispatcher: Dispatcher
    ) {
        (self.id, self.operation) = (id, operation)
        (self.observer, self.dispatcher) = (observer, dispatcher)
        state = Mutex(State(queue: EventQueue(operation.delivery)))
    }

    // MARK: - The dispatcher's side

    /// Hands the call to its provider; false when it was cancelled meanwhile.
    func begin(_ provider: any Provider, deadline: Int64) -> Bool {
        state.withLock { state in
            guard state.phase == .starting else { return false }
            state.phase = .running
            state.provider = provider
            state.deadline = deadline
            return true
        }
    }

    /// The provider has taken the call. A cancel that came while it did may have come before it knew of the call.
    func invoked() {
        let (isCancelled, provider) = state.withLock { ($0.phase == .abandoned || $0.cancelReason != nil, $0.provider) }
        if isCancelled { cancelProvider(provider) }
    }

    /// Ends a call that no provider has seen: denied, or its family cannot be opened.
    func refuse(_ error: HostError) { giveUp(error, nil) }

    /// Ends a call that is late, or a cancelled one whose provider never answered.
    func expire(now: Int64) {
        let (phase, provider) = state.withLock { state -> (Phase?, (any Provider)?) in
            guard state.deadline <= now else { return (nil, nil) }
            state.deadline = .max
            return (state.phase, state.provider)
        }
        switch phase {
        case .running:
            let error = HostError(
                "host.timeout", "\(operation.fullName) took longer than its timeout.",
                details: ["operation": .string(operation.fullName)])
            giveUp(error, provider)
        case .open:
            // Five seconds after cancel no final value has come.
            conclude { .end(nil, reason: $0.cancelReason ?? "cancelled") }
            dispatcher.complain(self, "has not ended five seconds after it was cancelled")
        case .abandoned:
            dispatcher.complain(self, "has not ended five seconds after it was cancelled")
        case .starting, .ended, nil: break
        }
    }

    /// Ends the call because its permission is gone.
    func revoke(_ error: HostError) {
        let (phase, provider) = state.withLock { state -> (Phase, (any Provider)?) in
            defer {
                if state.phase == .open {
                    state.phase = .abandoned
                    state.deadline = Clock.now + 5_000
                    state.last = .failed(error)
                }
            }
            return (state.phase, state.provider)
        }
        switch phase {
        case .starting, .running: giveUp(error, provider)
        case .open:
            cancelProvider(provider)
            notify()
        case .abandoned, .ended: break
        }
    }

    // MARK: - The caller's side

    func cancel() {
        let (phase, provider) = state.withLock { state -> (Phase, (any Provider)?) in
            if state.phase == .open {
                if state.cancelReason != nil { return (.ended, nil) }
                state.cancelReason = "cancelled"
                state.deadline = Clock.now + 5_000
            }
            return (state.phase, state.provider)
        }
        switch phase {
        case .starting, .running: giveUp(.cancelled, provider)
        case .open: cancelProvider(provider)
        case .abandoned, .ended: break
        }
    }

    func next() -> StreamItem? {
        let (item, resumes, provider) = state.withLock { state -> (StreamItem?, Int, (any Provider)?) in
            if let event = state.queue.next() {
                return (.event(name: event.name, event.payload), state.queue.takeResumes(), state.provider)
            }
            state.hasNotified = false
            defer { state.last = nil }
            return (state.last, 0, nil)
        }
        if resumes > 0, let provider {
            // Never on this stack: the plugin may be in `event` just now.
            dispatcher.control.submit { [id] in for _ in 0..<resumes { provider.resume(id) } }
        }
        return item
    }

    // MARK: - The provider's side

    func reply(_ result: Payload?) {
        let accepted = state.withLock { state in
            switch state.phase {
            case .running:
                state.phase = isStream ? .open : .ended
                state.deadline = .max
                return Accepted.answer
            case .abandoned:
                if !isStream { state.phase = .ended }
                return .late
            case .starting, .open, .ended: return .surplus
            }
        }
        switch accepted {
        case .answer:
            if !isStream { dispatcher.remove(self) }
            observer.answered(self, .success(result ?? (isStream ? .emptyObject : .null)))
            if isStream { notifyIfWaiting() }
        case .late: if !isStream { dispatcher.remove(self) }
        case .surplus: dispatcher.complain(self, "was answered twice; the second answer is dropped")
        }
    }

    private enum Accepted { case answer, late, surplus }

    func fail(_ error: HostError) {
        let phase = state.withLock { state in
            defer {
                if state.phase == .open { state.last = state.cancelReason.map { .end(nil, reason: $0) } ?? .failed(error) }
                state.phase = .ended
            }
            return state.phase
        }
        dispatcher.remove(self)
        switch phase {
        case .running: observer.answered(self, .failure(error))
        case .open: notify()
        case .abandoned: break
        case .starting, .ended: dispatcher.complain(self, "failed after it had ended")
        }
    }

    func event(_ name: String, _ payload: Payload?) -> Flow {
        guard operation.events.contains(where: { $0.name == name }) || Self.signals.contains(name) else {
            dispatcher.complain(self, "sent the event \(name), which it does not declare; it is dropped")
            return .proceed
        }
        let (accepted, tell) = state.withLock { state -> (EventQueue.Accepted?, Bool) in
            guard state.phase == .running || state.phase == .open, state.cancelReason == nil, isStream else {
                return (nil, false)
            }
            let accepted = state.queue.append(name, payload ?? .emptyObject)
            let tell = state.phase == .open && !state.hasNotified
            if tell { state.hasNotified = true }
            return (accepted, tell)
        }
        if tell { observer.eventsReady(self) }
        switch accepted {
        case .proceed: return .proceed
        case .hold: return .hold
        case .overflow:
            let limit = "The stream \(operation.fullName) has \(EventQueue.maximumCount) events that nobody took."
            revoke(HostError("host.stream_overflow", limit))
            return .stop
        case nil: return .stop
        }
    }

    func end(_ final: Payload?) {
        let opened = state.withLock { $0.phase == .running }
        // An end without a reply opens the stream first, so that the caller has its handle.
        if opened { reply(nil) }
        conclude { .end(final, reason: $0.cancelReason ?? "finished") }
        dispatcher.remove(self)
    }

    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        dispatcher.openPath(self, path, flags: flags, mode: mode)
    }

    func allows(_ scope: String, _ value: String) -> Bool { dispatcher.allows(self, scope, value) }

    /// What a plugin may say of any stream; `end` and `error` are the host's own.
    private static let signals: Set<String> = ["lost", "dropped", "resubscribed"]

    // MARK: -

    private func conclude(_ last: (State) -> StreamItem) {
        let phase = state.withLock { state in
            defer {
                if state.phase == .open { state.last = last(state) }
                state.phase = .ended
                state.deadline = .max
            }
            return state.phase
        }
        if phase == .open { notify() }
    }

    /// Answers with an error now; the provider is told, and its own terminal is dropped when it comes.
    private func giveUp(_ error: HostError, _ provider: (any Provider)?) {
        let before = state.withLock { state in
            defer {
                if state.phase == .starting { state.phase = .ended }
                if state.phase == .running {
                    state.phase = .abandoned
                    state.deadline = Clock.now + 5_000
                }
            }
            return state.phase
        }
        guard before == .starting || before == .running else { return }
        if before == .starting { dispatcher.remove(self) }
        observer.answered(self, .failure(error))
        cancelProvider(provider)
    }

    private func cancelProvider(_ provider: (any Provider)?) {
        guard let provider else { return }
        dispatcher.control.submit { [id] in provider.cancel(id) }
    }

    private func notifyIfWaiting() {
        let tell = state.withLock { state in
            guard !state.hasNotified, !state.queue.isEmpty || state.last != nil else { return false }
            state.hasNotified = true
            return true
        }
        if tell { observer.eventsReady(self) }
    }

    private func notify() {
        state.withLock { $0.hasNotified = true }
        observer.eventsReady(self)
    }
}
