public import ApsuleKit
internal import Synchronization

/// Decides for one project: declaration, operation switches, scope, then policy, flags, grants, and last a person.
///
/// Lives in the parent, which alone writes grants and audit. The rules are in `PermissionRules.swift`.
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
    let catalogue: PermissionCatalogue
    let store: GrantStore
    let audit: AuditLog
    let policy: Policy
    let report: @Sendable (HostError) -> Void
    let state: Mutex<State>
    private let prompter: any Prompter
    private let questions = SerialQueue()

    struct State {
        /// Given by flags or for this run.
        var run: Set<String>
        /// Given once, to a call that may still run.
        var once: Set<String> = []
        var deniedForRun: Set<String> = []
        var handlers: [@Sendable (Revocation) -> Void] = []
        /// What was allowed by a durable grant, to notice when it goes.
        var durable: Set<String> = []
        var version: Int64 = 0
        var lastRevocation: Int64 = 0
        var watch: FolderWatch?
        /// Said already, so that a store that cannot be read is not complained of at each call.
        var complaints: Set<String> = []
    }

    /// - Parameters:
    ///   - allowed: permissions that flags give to this process.
    ///   - report: hears what a person should know: that a grant could not be read or saved.
    public init(
        subject: Subject, catalogue: PermissionCatalogue, store: GrantStore, audit: AuditLog, policy: Policy,
        allowed: Set<String> = [], prompter: any Prompter, report: @escaping @Sendable (HostError) -> Void = { _ in }
    ) {
        (self.subject, self.catalogue, self.store, self.audit) = (subject, catalogue, store, audit)
        (self.policy, self.prompter, self.report) = (policy, prompter, report)
        state = Mutex(State(run: allowed, version: store.version(), lastRevocation: store.lastRevocation()))
    }

    /// The owner's settings of families for this project.
    public var settings: JSON { policy.settings(of: subject.identity) }

    public func note(_ question: Question, count: Int) {
        audit.write("allowed", subject.identity, [.init("count", .int(Int64(count)))] + (question.json.members ?? []))
    }

    public func allows(_ question: Question, once: Bool) -> Bool {
        question.needs.allSatisfy { need in
            switch step(question, need) {
            case .allowed: true
            case .denied: false
            case .ask: once
            }
        }
    }

    public func decide(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void) {
        let steps = question.needs.map { step(question, $0) }
        for case .denied(let rule) in steps { return completion(.denied(deny(question, rule))) }
        if steps.allSatisfy({ if case .allowed = $0 { true } else { false } }) {
            return completion(allow(question, steps, once: false))
        }
        // A prompt waits for a person; questions are put one after another.
        questions.submit { [self] in completion(ask(question)) }
    }

    private func ask(_ question: Question) -> Verdict {
        var once: Set<String> = []
        for need in question.needs {
            // Asked again: an answer given meanwhile to another call may have decided it.
            switch step(question, need) {
            case .allowed: break
            case .denied(let rule): return .denied(deny(question, rule))
            case .ask(let declaration):
                if let refusal = ask(question, need, declaration, &once) { return .denied(deny(question, refusal)) }
            }
        }
        let steps = question.needs.map { step(question, $0) }
        for (need, step) in zip(question.needs, steps) {
            switch step {
            case .allowed: break
            case .denied(let rule): return .denied(deny(question, rule))
            // Taken away while a person was asked for another.
            case .ask where !once.contains(need.permission):
                return .denied(Revocation(permission: need.permission).error)
            case .ask: break
            }
        }
        state.withLock { $0.once.formUnion(once) }
        return allow(question, steps, once: !once.isEmpty)
    }

    /// Puts one question to a person.
    ///
    /// - Returns: why the call is denied, where the answer does not say it for later calls too.
    private func ask(
        _ question: Question, _ need: Need, _ declaration: Declaration, _ once: inout Set<String>
    ) -> Rule? {
        let permission = need.permission
        let answer = prompter.ask(request(permission, declaration, question.operation))
        write(
            "prompt", permission,
            [.init("operation", .string(question.operation)), .init("answer", .string(answer?.rawValue ?? "nobody"))])
        switch answer {
        case .once: once.insert(permission)
        case .run: state.withLock { _ = $0.run.insert(permission) }
        case .always, .never: keep(permission, declaration, isAllowed: answer == .always)
        case .some(.none):
            return Rule(
                name: "person", reason: "Nobody answered.", fix: "Run it again and answer the question.",
                permission: permission)
        case nil:
            return Rule(
                name: "no_prompt", reason: "There is no terminal to ask at, and no policy decides it.",
                fix:
                    "Run it at a terminal, use --allow \(permission), or let \(policy.path.isEmpty ? "policy.json" : policy.path) decide.",
                permission: permission)
        }
        return nil
    }

    /// Saves what a person decided for good; what cannot be saved holds for this run, and is said.
    private func keep(_ permission: String, _ declaration: Declaration, isAllowed: Bool) {
        let event = isAllowed ? "granted" : "denied_always"
        do throws(HostError) {
            try store.save(
                Grant(
                    identity: subject.identity, permission: permission, isAllowed: isAllowed, declaration: declaration,
                    created: Clock.wall))
            write(event, permission)
        } catch {
            state.withLock { state in
                if isAllowed { _ = state.run.insert(permission) } else { _ = state.deniedForRun.insert(permission) }
            }
            write(event, permission, [.init("saved", false), .init("reason", .string(error.message))])
            var error = error
            error.message =
                "The answer about \(permission) could not be saved and holds for this run only. \(error.message)"
            report(error)
        }
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

    private func request(_ permission: String, _ declaration: Declaration, _ operation: String) -> PromptRequest {
        let others = (try? store.grants(of: nil))?.filter {
            $0.identity.id == subject.identity.id && $0.identity != subject.identity
        }
        return PromptRequest(
            projectName: subject.name, identity: subject.identity, permission: permission,
            title: catalogue[permission]?.title ?? permission, operation: operation,
            declaration: declaration, otherPlaces: Set((others ?? []).map(\.identity.place)).sorted())
    }

    /// Has a person at the terminal confirm a lasting approval, and saves it.
    ///
    /// - Throws: `permission.denied` where nobody can be asked, or the answer is no.
    public func grant(
        _ permission: String, _ declaration: Declaration, expires: Int64?, confirmedAt terminal: TerminalPrompter
    ) throws(HostError) {
        let answer = terminal.confirm(request(permission, declaration, "apsule permissions grant"))
        write(
            "prompt", permission,
            [
                .init("operation", "permissions grant"),
                .init("answer", answer.map { $0 ? "always" : "no" } ?? "nobody"),
            ])
        guard answer == true else {
            let isNobody = answer == nil
            throw HostError(
                "permission.denied",
                isNobody
                    ? "There is no terminal to ask at, and nothing was granted." : "Nothing was granted.",
                details: [
                    "permission": .string(permission), "rule": isNobody ? "no_prompt" : "person",
                    "reason": "A lasting permission is given by a person at a terminal, or by the policy file.",
                    "fix": .string("Run it at a terminal, or allow \(permission) in \(policy.path)."),
                ])
        }
        try grant(permission, declaration, expires: expires)
    }

    /// Saves a person's approval given outside a prompt, at a terminal.
    public func grant(_ permission: String, _ declaration: Declaration, expires: Int64? = nil) throws(HostError) {
        try store.save(
            Grant(
                identity: subject.identity, permission: permission, isAllowed: true, declaration: declaration,
                created: Clock.wall, expires: expires))
        write(
            "granted", permission, [.init("by", "command line"), .init("expires", expires.map { .int($0) } ?? .null)])
    }

    func write(_ event: String, _ permission: String, _ more: [JSON.Member] = []) {
        audit.write(event, subject.identity, [.init("permission", .string(permission))] + more)
    }
}
