internal import ApsuleKit
internal import Synchronization

/// The provider's side of a call.
extension ActiveCall {
    func reply(_ result: Payload?) {
        if let error = ArgumentLimits.refusal(of: result, "result of \(operation.fullName)") {
            return isStream ? end(with: error, keepsEvents: false) : fail(error)
        }
        let accepted = state.withLock { state in
            switch state.phase {
            case .running:
                state.phase = isStream ? .open : .ended
                state.isAnswering = isStream
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
            guard isStream else { return }
            let tells = state.withLock { state in
                state.isAnswering = false
                return state.tells()
            }
            if tells { observer.eventsReady(self) }
        case .late: if !isStream { dispatcher.remove(self) }
        case .surplus: dispatcher.complain(self, "was answered twice; the second answer is dropped")
        }
    }

    private enum Accepted { case answer, late, surplus }

    func fail(_ error: HostError) {
        let (phase, tells) = state.withLock { state -> (Phase, Bool) in
            let phase = state.phase
            if phase == .open { state.last = state.cancelReason.map { .end(nil, reason: $0) } ?? .failed(error) }
            if phase == .running { state.queue.clear() }
            state.phase = .ended
            state.deadline = .max
            return (phase, state.tells())
        }
        dispatcher.remove(self)
        switch phase {
        case .running: observer.answered(self, .failure(error))
        case .starting, .ended: dispatcher.complain(self, "failed after it had ended; that is dropped")
        case .open, .abandoned: if tells { observer.eventsReady(self) }
        }
    }

    func event(_ name: String, _ payload: Payload?) -> Flow {
        guard operation.events.contains(where: { $0.name == name }) || isStream && Self.signals.contains(name) else {
            dispatcher.complain(
                self, "sent the event \(SafeText.escape(name)), which it does not declare; it is dropped")
            return isStream ? .proceed : .stop
        }
        if let error = ArgumentLimits.refusal(of: payload, "event \(name) of \(operation.fullName)") {
            end(with: error, keepsEvents: true)
            return .stop
        }
        let (accepted, tells) = state.withLock { state -> (EventQueue.Accepted?, Bool) in
            guard state.phase == .running || state.phase == .open, state.cancelReason == nil else {
                return (nil, false)
            }
            let accepted = state.queue.append(name, payload ?? .emptyObject)
            return (accepted, state.tells())
        }
        if tells { observer.eventsReady(self) }
        switch accepted {
        case .proceed: return .proceed
        case .hold: return .hold
        case .overflow:
            let reason =
                "The stream \(operation.fullName) has \(EventQueue.maximumCount) events or 8 MiB that nobody took."
            end(with: HostError("host.stream_overflow", reason), keepsEvents: true)
            return .stop
        case nil: return .stop
        }
    }

    func end(_ final: Payload?) {
        guard isStream else {
            dispatcher.complain(self, "is no stream, but was ended like one")
            return fail(HostError("plugin.protocol_error", "\(operation.fullName) ended without an answer."))
        }
        if let error = ArgumentLimits.refusal(of: final, "final value of \(operation.fullName)") { return fail(error) }
        // An end without a reply opens the stream first, so that the caller has its handle.
        if state.withLock({ $0.phase == .running }) { reply(nil) }
        conclude { .end(final, reason: $0.cancelReason ?? "finished") }
    }

    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        dispatcher.openPath(self, path, flags: flags, mode: mode)
    }

    func allows(_ scope: String, _ value: String) -> Bool { dispatcher.allows(self, scope, value) }

    /// What a plugin may say of any stream; `end` and `error` are the host's own.
    private static let signals: Set<String> = ["lost", "dropped", "resubscribed"]

    /// The answer that `decide` gives, remembered for this call.
    func remembered(_ scope: String, _ value: String, _ decide: (_ once: Bool) -> Bool) -> Bool {
        let key = "\(scope)\n\(value)"
        let (known, once) = state.withLock { ($0.scopes[key], $0.isOnce) }
        if let known { return known }
        let answer = decide(once)
        state.withLock { state in
            if state.scopes.count >= 4_096 { state.scopes = [:] }
            state.scopes[key] = answer
        }
        return answer
    }
}
