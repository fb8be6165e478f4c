internal import ApsuleKit
internal import Synchronization

/// Who decides: the parent's own store and terminal, or, in a worker, the parent behind a socket.
public protocol Authority: AnyObject, Sendable {
    /// Decides, perhaps after asking a person. `completion` runs once, on any thread.
    func decide(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void)

    /// Whether it would be allowed now; never prompts, but may wait for another process.
    func allows(_ question: Question) -> Bool

    /// Writes down how often an answer that was given before was used again.
    func note(_ question: Question, count: Int)

    /// Calls `handler` for each permission that is taken away.
    func onRevoked(_ handler: @escaping @Sendable (Revocation) -> Void)
}

/// Stands before every call: asks the authority once, remembers what is allowed, counts for the audit.
public final class Gate: Sendable {
    private let authority: any Authority
    private let cache = Mutex<[Question: Entry]>([:])
    private static let flushInterval: Int64 = 60_000

    private struct Entry {
        var uses = 0
        var expires: Int64
        var flushed: Int64
    }

    public init(authority: any Authority) {
        self.authority = authority
        authority.onRevoked { [weak self] revocation in
            self?.cache.withLock { cache in
                cache = cache.filter { question, _ in
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
        let (hit, due) = cache.withLock { cache -> (Bool, Int) in
            guard let index = cache.index(forKey: question) else { return (false, 0) }
            guard cache.values[index].expires > now else {
                cache.remove(at: index)
                return (false, 0)
            }
            cache.values[index].uses += 1
            guard now - cache.values[index].flushed >= Self.flushInterval else { return (true, 0) }
            defer {
                cache.values[index].uses = 0
                cache.values[index].flushed = now
            }
            return (true, cache.values[index].uses)
        }
        if due > 0 { authority.note(question, count: due) }
        return hit
    }

    /// Decides; `completion` runs at once where the answer is known.
    func check(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void) {
        if isAllowed(question) { return completion(.allowed(once: false, expires: nil)) }
        authority.decide(question) { [weak self] verdict in
            if case .allowed(once: false, let expires) = verdict { self?.remember(question, expires) }
            completion(verdict)
        }
    }

    private func remember(_ question: Question, _ expires: Int64?) {
        cache.withLock { $0[question] = Entry(expires: expires ?? .max, flushed: Clock.wall) }
    }

    /// Whether a value is in scope, asked by a plugin in the middle of a call.
    func allows(_ operation: OperationDescriptor, scope: String, value: String) -> Bool {
        guard let permission = operation.permission else { return false }
        let need = Need(permission: permission.name, level: permission.level, scopes: [scope: [value]])
        return allowsSilently(Question(operation: operation.fullName, needs: [need]))
    }

    /// Whether an operation that declares a path may open files: by the storage permission that it declares.
    func mayOpenFiles(_ operation: OperationDescriptor) -> Bool {
        let declared = operation.permission?.name == "storage" || operation.requires.contains { $0.permission == "storage" }
        return declared && allowsSilently(Question(operation: operation.fullName, needs: [Need(permission: "storage")]))
    }

    private func allowsSilently(_ question: Question) -> Bool {
        if isAllowed(question) { return true }
        guard authority.allows(question) else { return false }
        remember(question, nil)
        return true
    }

    /// Hands the counts that are still open to the audit.
    func flush() {
        let open = cache.withLock { cache in
            let open = cache.filter { $0.value.uses > 0 }.map { ($0.key, $0.value.uses) }
            for (question, _) in open { cache[question]?.uses = 0 }
            return open
        }
        for (question, count) in open { authority.note(question, count: count) }
    }
}
