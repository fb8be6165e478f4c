internal import ApsuleKit
internal import Synchronization

/// Who decides: the parent's own store and terminal, or, in a worker, the parent behind a socket.
public protocol Authority: AnyObject, Sendable {
    /// Decides, perhaps after asking a person. `completion` runs once, on any thread.
    func decide(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void)

    /// Whether it would be allowed now; never prompts, but may wait for another process.
    ///
    /// - Parameter once: a person approved the one call that asks: what was not decided for good counts as allowed,
    ///   within what is declared.
    func allows(_ question: Question, once: Bool) -> Bool

    /// Writes down how often an answer that was given before was used again.
    func note(_ question: Question, count: Int)

    /// Calls `handler` for each permission that is taken away.
    func onRevoked(_ handler: @escaping @Sendable (Revocation) -> Void)
}

/// Stands before every call: asks the authority once, remembers what is allowed, counts for the audit.
public final class Gate: Sendable {
    private let authority: any Authority
    private let state = Mutex(State())
    private static let flushInterval: Int64 = 60_000
    private static let maximumCount = 4_096

    private struct State {
        var cache: [Question: Entry] = [:]
        /// How often each permission was taken away: an answer from before that is worth nothing.
        var revocations: [String: Int] = [:]

        func stamp(_ question: Question) -> Int { question.needs.reduce(0) { $0 + (revocations[$1.permission] ?? 0) } }
    }

    private struct Entry {
        var uses = 0
        var expires: Int64
        var flushed: Int64
    }

    public init(authority: any Authority) {
        self.authority = authority
        authority.onRevoked { [weak self] revocation in
            self?.state.withLock { state in
                state.revocations[revocation.permission, default: 0] += 1
                state.cache = state.cache.filter { question, _ in
                    !question.needs.contains { $0.permission == revocation.permission }
                }
            }
        }
    }

    func onRevoked(_ handler: @escaping @Sendable (Revocation) -> Void) { authority.onRevoked(handler) }

    /// Whether the call is allowed by what was decided before.
    func isAllowed(_ question: Question) -> Bool {
        if question.needs.isEmpty { return true }
        let now = Clock.wall
        let (hit, due) = state.withLock { state -> (Bool, Int) in
            guard let index = state.cache.index(forKey: question) else { return (false, 0) }
            guard state.cache.values[index].expires > now else {
                return (false, state.cache.remove(at: index).value.uses)
            }
            state.cache.values[index].uses += 1
            guard now - state.cache.values[index].flushed >= Self.flushInterval else { return (true, 0) }
            defer {
                state.cache.values[index].uses = 0
                state.cache.values[index].flushed = now
            }
            return (true, state.cache.values[index].uses)
        }
        if due > 0 { authority.note(question, count: due) }
        return hit
    }

    /// Decides; `completion` runs at once where the answer is known.
    func check(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void) {
        if isAllowed(question) { return completion(.allowed(once: false, expires: nil)) }
        ask(question, tries: 2, completion)
    }

    private func ask(_ question: Question, tries: Int, _ completion: @escaping @Sendable (Verdict) -> Void) {
        let stamp = state.withLock { $0.stamp(question) }
        authority.decide(question) { [self] verdict in
            guard case .allowed(let once, let expires) = verdict else { return completion(verdict) }
            // What was allowed just before it was revoked must not be remembered, nor used.
            if remember(question, once ? 0 : expires ?? .max, stamp) { return completion(verdict) }
            if tries > 1 { return ask(question, tries: tries - 1, completion) }
            completion(.denied(Revocation(permission: question.needs.first?.permission ?? "").error))
        }
    }

    /// - Parameter expires: 0 for what holds once.
    /// - Returns: false where a permission was taken away since `stamp`.
    private func remember(_ question: Question, _ expires: Int64, _ stamp: Int) -> Bool {
        let (isValid, full) = state.withLock { state -> (Bool, [Question: Entry]) in
            guard state.stamp(question) == stamp else { return (false, [:]) }
            guard expires > 0 else { return (true, [:]) }
            // A script may make up as many scope values as it likes.
            let full = state.cache.count >= Self.maximumCount ? state.cache : [:]
            if !full.isEmpty { state.cache = [:] }
            state.cache[question] = Entry(expires: expires, flushed: Clock.wall)
            return (true, full)
        }
        for (question, entry) in full where entry.uses > 0 { authority.note(question, count: entry.uses) }
        return isValid
    }

    /// Whether a value is in scope, asked by a plugin in the middle of a call.
    func allows(_ operation: OperationDescriptor, scope: String, value: String, once: Bool) -> Bool {
        guard let permission = operation.permission else { return false }
        let need = Need(permission: permission.name, level: permission.level, scopes: [scope: [value]])
        return authority.allows(Question(operation: operation.fullName, needs: [need]), once: once)
    }

    /// Whether an operation that declares a path may open files: by the storage permission that it declares.
    func mayOpenFiles(_ operation: OperationDescriptor, once: Bool) -> Bool {
        let declared =
            operation.permission?.name == "storage" || operation.requires.contains { $0.permission == "storage" }
        let question = Question(operation: operation.fullName, needs: [Need(permission: "storage")])
        return declared && authority.allows(question, once: once)
    }

    /// Hands the counts that are still open to the audit.
    func flush() {
        let open = state.withLock { state in
            let open = state.cache.filter { $0.value.uses > 0 }.map { ($0.key, $0.value.uses) }
            for (question, _) in open { state.cache[question]?.uses = 0 }
            return open
        }
        for (question, count) in open { authority.note(question, count: count) }
    }
}
