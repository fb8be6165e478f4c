public import ApsuleKit
internal import Synchronization

/// The rules, in the order in which they decide: what is declared, then every "no", then every "yes", then a person.
extension PermissionAuthority {
    struct Rule {
        let name: String
        let reason: String
        let fix: String
        let permission: String
    }

    enum Step {
        case allowed(String, expires: Int64?)
        case denied(Rule)
        case ask(Declaration)
    }

    func step(_ question: Question, _ need: Need) -> Step {
        let name = need.permission
        func denied(_ rule: String, _ reason: String, fix: String) -> Step {
            .denied(Rule(name: rule, reason: reason, fix: fix, permission: name))
        }
        guard let permission = catalogue[name] else {
            return denied("unknown", "There is no permission \(SafeText.escape(name)).", fix: "apsule permissions list")
        }
        let declaration: Declaration
        if let declarations = subject.declarations {
            guard let declared = declarations[name] else {
                return denied(
                    "undeclared", "The project does not declare \(name).",
                    fix: "Add \"\(name)\": true to permissions in app.json.")
            }
            declaration = declared
        } else {
            declaration = Declaration(level: permission.levels.last)
        }
        if let refusal = declaration.refusal(question, need, permission) {
            return denied("scope", refusal, fix: "Widen permissions.\(name) in app.json.")
        }
        let decision = policy.decision(subject.identity, name)
        if decision == false { return denied("policy", "\(policy.path) denies it.", fix: "Change \(policy.path).") }
        let (isRun, isDenied) = state.withLock { ($0.run.contains(name), $0.deniedForRun.contains(name)) }
        if isDenied { return denied("person", "It was denied for this run.", fix: "Start the project again.") }
        let grant = liveGrant(name)
        if let grant, !grant.isAllowed {
            return denied(
                "grant", "A person said never.",
                fix: "apsule permissions revoke \(subject.identity.id) \(name), then start it again")
        }
        if decision == true { return .allowed("policy", expires: nil) }
        if let grant, declaration.isWithin(grant.declaration, permission) {
            state.withLock { _ = $0.durable.insert(name) }
            return .allowed("grant", expires: grant.expires)
        }
        if isRun { return .allowed("run", expires: nil) }
        return .ask(declaration)
    }

    /// What a person decided for good and what has not expired.
    ///
    /// What cannot be read allows nothing, and is said once.
    private func liveGrant(_ name: String) -> Grant? {
        do throws(HostError) {
            guard let grant = try store.grant(of: subject.identity, name) else { return nil }
            return grant.expires.map { $0 > Clock.wall } ?? true ? grant : nil
        } catch {
            let isNew = state.withLock { $0.complaints.insert(error.code).inserted }
            if isNew { report(error) }
            return nil
        }
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
            case .allowed(let rule, let expires):
                entry.set("state", "granted")
                entry.set("rule", .string(rule))
                entry.set("expires", expires.map { .int($0) })
            case .ask:
                entry.set("state", "prompt")
                entry.set("rule", "a person has not decided yet")
            case .denied(let rule):
                entry.set("state", .string(rule.name == "undeclared" ? "undeclared" : "denied"))
                entry.set("rule", .string(rule.reason))
                entry.set("fix", .string(rule.fix))
            }
            return entry
        }
    }
}
