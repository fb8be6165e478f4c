public import ApsuleKit
internal import Synchronization

/// Decides for one project: declaration, operation switches, scope, then policy, flags, grants, and last a person.
///
/// Lives in the parent, which alone writes grants and audit.
public final class PermissionAuthority: Authority {
    public struct Subject: Sendable {
        public let identity: ProjectIdentity
        public let name: String
        /// nil: everything counts as declared, as for the command line itself.
        public let declarations: [String: Declaration]?

        public init(identity: ProjectIdentity, name: String, declarations: [String: Declaration]?) {
            (self.identity, self.name, self.declarations) = (identity, name, declarations)
        }
    }

    public let subject: Subject
    private let catalogue: PermissionCatalogue
    private let store: GrantStore
    private let audit: AuditLog
    private let policy: Policy
    private let prompter: any Prompter
    private let state: Mutex<State>
    private let questions = SerialQueue()

    private struct State {
        /// Given by flags or for this run.
        var run: Set<String>
        var deniedForRun: Set<String> = []
        var handlers: [@Sendable (Revocation) -> Void] = []
        /// What was allowed by a durable grant, to notice when it goes.
        var durable: Set<String> = []
        var version: Int64 = 0
    }

    /// - Parameter allowed: permissions that flags give to this process.
    public init(
        subject: Subject, catalogue: PermissionCatalogue, store: GrantStore, audit: AuditLog, policy: Policy,
        allowed: Set<String> = [], prompter: any Prompter
    ) {
        (self.subject, self.catalogue, self.store, self.audit) = (subject, catalogue, store, audit)
        (self.policy, self.prompter) = (policy, prompter)
        state = Mutex(State(run: allowed, version: store.version()))
    }

    public func onRevoked(_ handler: @escaping @Sendable (Revocation) -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    public func note(_ question: Question, count: Int) {
        audit.write("allowed", subject.identity, [.init("count", .int(Int64(count)))] + (question.json.members ?? []))
    }

    public func allows(_ question: Question) -> Bool {
        question.needs.allSatisfy { if case .allowed = step(question, $0) { true } else { false } }
    }

    public func decide(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void) {
        let steps = question.needs.map { step(question, $0) }
        if let denied = steps.first(where: { if case .denied = $0 { true } else { false } }),
            case .denied(let rule) = denied
        {
            return completion(.denied(deny(question, rule)))
        }
        if steps.allSatisfy({ if case .allowed = $0 { true } else { false } }) {
            return completion(allow(question, steps, once: false))
        }
        // A prompt waits for a person; questions are put one after another.
        questions.submit { [self] in completion(ask(question)) }
    }

    /// The state of one permission: `granted`, `denied`, `prompt` or `undeclared`.
    public func status(_ permission: String) -> String {
        switch step(Question(operation: "", needs: []), Need(permission: permission)) {
        case .allowed: "granted"
        case .denied(let rule): rule.name == "undeclared" ? "undeclared" : "denied"
        case .ask: "prompt"
        }
    }

    /// The chain of rules for a question, for `apsule permissions explain`.
    public func explain(_ question: Question) -> [JSON] {
        question.needs.map { need in
            var entry: JSON = ["permission": .string(need.permission), "need": need.json]
            switch step(question, need) {
            case .allowed(let rule, _): entry.set("state", "granted"); entry.set("rule", .string(rule))
            case .ask: entry.set("state", "prompt"); entry.set("rule", "a person has not decided yet")
            case .denied(let rule):
                entry.set("state", .string(rule.name == "undeclared" ? "undeclared" : "denied"))
                entry.set("rule", .string(rule.reason))
                entry.set("fix", .string(rule.fix))
            }
            return entry
        }
    }

    // MARK: - Rules, in the order in which they decide

    private struct Rule {
        let name: String
        let reason: String
        let fix: String
        let permission: String
    }

    private enum Step {
        case allowed(String, expires: Int64?)
        case denied(Rule)
        case ask(Declaration)
    }

    private func step(_ question: Question, _ need: Need) -> Step {
        let name = need.permission
        func denied(_ rule: String, _ reason: String, fix: String) -> Step {
            .denied(Rule(name: rule, reason: reason, fix: fix, permission: name))
        }
        guard let permission = catalogue[name] else {
            return denied("unknown", "There is no permission \(name).", fix: "apsule permissions list")
        }
        let declaration: Declaration
        if let declarations = subject.declarations {
            guard let declared = declarations[name] else {
                return denied("undeclared", "The project does not declare \(name).", fix: "Add \"\(name)\": true to permissions in app.json.")
            }
            declaration = declared
        } else {
            declaration = Declaration(level: permission.levels.last)
        }
        if let refusal = declaration.refusal(question, need, permission) {
            return denied("scope", refusal, fix: "Widen permissions.\(name) in app.json.")
        }
        switch policy.decision(subject.identity, name) {
        case false?: return denied("policy", "\(policy.path) denies it.", fix: "Change \(policy.path).")
        case true?: return .allowed("policy", expires: nil)
        case nil: break
        }
        let (isRun, isDenied) = state.withLock { ($0.run.contains(name), $0.deniedForRun.contains(name)) }
        if isDenied { return denied("person", "It was denied for this run.", fix: "Start the project again.") }
        let revoke = "apsule permissions revoke \(subject.identity.id) \(name)"
        if let grant = try? store.grant(of: subject.identity, name) {
            let isLive = grant.expires.map { $0 > Clock.wall } ?? true
            if isLive, !grant.isAllowed { return denied("grant", "A person said never.", fix: "\(revoke), then start it again") }
            if isLive, declaration.isWithin(grant.declaration, permission) {
                state.withLock { _ = $0.durable.insert(name) }
                return .allowed("grant", expires: grant.expires)
            }
        }
        if isRun { return .allowed("run", expires: nil) }
        return .ask(declaration)
    }

    private func ask(_ question: Question) -> Verdict {
        var once = false
        for need in question.needs {
            // Asked again: an answer given meanwhile to another call may have decided it.
            guard case .ask(let declaration) = step(question, need) else { continue }
            let request = PromptRequest(
                projectName: subject.name, identity: subject.identity, permission: need.permission,
                title: catalogue[need.permission]?.title ?? need.permission, operation: question.operation,
                declaration: declaration)
            let answer = prompter.ask(request)
            let said = answer.map { $0.rawValue } ?? "nobody to ask"
            audit.write(
                "prompt", subject.identity,
                [
                    .init("permission", .string(need.permission)), .init("operation", .string(question.operation)),
                    .init("answer", .string(said)),
                ])
            switch answer {
            case .once: once = true
            case .run: state.withLock { _ = $0.run.insert(need.permission) }
            case .always, .never:
                let grant = Grant(
                    identity: subject.identity, permission: need.permission, isAllowed: answer == .always,
                    declaration: declaration, created: Clock.wall)
                // What cannot be saved still holds for this run.
                do { try store.save(grant) } catch {
                    state.withLock { state in
                        if answer == .always { state.run.insert(need.permission) } else { state.deniedForRun.insert(need.permission) }
                    }
                }
                audit.write(answer == .always ? "granted" : "denied_always", subject.identity, [.init("permission", .string(need.permission))])
            case .some(.none):
                return .denied(deny(question, Rule(
                    name: "person", reason: "Nobody answered.", fix: "Run it again and answer the question.", permission: need.permission)))
            case nil:
                return .denied(deny(question, nobodyToAsk(need.permission)))
            }
        }
        let steps = question.needs.map { step(question, $0) }
        for case .denied(let rule) in steps { return .denied(deny(question, rule)) }
        return allow(question, steps, once: once)
    }

    private func nobodyToAsk(_ permission: String) -> Rule {
        Rule(
            name: "no_prompt", reason: "There is no terminal to ask at, and no policy decides it.",
            fix: "Run it at a terminal, use --allow \(permission), or let policy.json decide.", permission: permission)
    }

    private func allow(_ question: Question, _ steps: [Step], once: Bool) -> Verdict {
        note(question, count: 1)
        var expires: Int64?
        for case .allowed(_, let end?) in steps { expires = min(end, expires ?? end) }
        return .allowed(once: once, expires: expires)
    }

    private func deny(_ question: Question, _ rule: Rule) -> HostError {
        audit.write("denied", subject.identity, [.init("rule", .string(rule.name))] + (question.json.members ?? []))
        return HostError(
            "permission.denied", "\(question.operation) needs the permission \(rule.permission). \(rule.reason)",
            details: [
                "permission": .string(rule.permission), "operation": .string(question.operation),
                "state": .string(rule.name == "undeclared" ? "undeclared" : "denied"), "rule": .string(rule.name),
                "reason": .string(rule.reason), "fix": .string(rule.fix),
            ])
    }

    /// Saves a person's approval given outside a prompt, at a terminal.
    public func grant(_ permission: String, _ declaration: Declaration, expires: Int64? = nil) throws(HostError) {
        try store.save(
            Grant(
                identity: subject.identity, permission: permission, isAllowed: true, declaration: declaration,
                created: Clock.wall, expires: expires))
        audit.write(
            "granted", subject.identity, [.init("permission", .string(permission)), .init("by", "command line")])
    }

    // MARK: - Revocation

    /// Looks whether another process took grants away; called when the state folder changes, and now and then.
    public func refresh() {
        let version = store.version()
        let suspects = state.withLock { state -> Set<String> in
            guard version != state.version else { return [] }
            state.version = version
            return state.durable
        }
        for name in suspects {
            if case .allowed = step(Question(operation: "", needs: []), Need(permission: name)) { continue }
            revoked(name)
        }
    }

    /// Takes a permission away now: for the run, and for good.
    public func revoke(_ permission: String) throws(HostError) {
        try store.remove(id: subject.identity.id, origin: subject.identity.origin, permission: permission)
        revoked(permission)
    }

    private func revoked(_ permission: String) {
        let handlers = state.withLock { state in
            state.run.remove(permission)
            state.durable.remove(permission)
            state.deniedForRun.insert(permission)
            return state.handlers
        }
        audit.write("revoked", subject.identity, [.init("permission", .string(permission))])
        for handler in handlers { handler(Revocation(permission: permission)) }
    }
}
