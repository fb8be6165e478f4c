import ApsuleKit

extension Declaration {
    /// Why the declaration does not cover a call, or nil where it does.
    func refusal(_ question: Question, _ need: Need, _ permission: PermissionCatalogue.Permission) -> String? {
        // Asking for a permission is no use of it.
        if !operations.isEmpty, !question.operation.isEmpty, question.operation != "permissions.request" {
            let short = question.operation.split(separator: ".", maxSplits: 1).last.map(String.init) ?? ""
            let switches = [operations[question.operation], operations[short]].compactMap { $0 }
            if switches.contains(false) { return "The project switches \(question.operation) off." }
            // Where operations are switched on by name, the others are off.
            if switches.isEmpty, operations.values.contains(true) {
                return "The project does not switch \(question.operation) on."
            }
        }
        if let wanted = need.level {
            guard let place = permission.levels.firstIndex(of: wanted) else {
                return "The level \(SafeText.escape(wanted)) is needed, which \(permission.name) does not have."
            }
            if Self.place(level, permission) < place {
                return "The level \(wanted) is needed, \(level ?? "none") is declared."
            }
        }
        for (scope, values) in need.scopes.sorted(by: { $0.key < $1.key }) {
            let rule = ScopeMatch(scope, of: permission.name)
            for value in values {
                if let refusal = rule.refusal(value, allowed: scopes[scope]) { return refusal }
            }
        }
        return nil
    }

    /// The place of a level, from the narrowest; none stands for the widest, one that there is not for nothing at all.
    private static func place(_ level: String?, _ permission: PermissionCatalogue.Permission) -> Int {
        guard let level else { return permission.levels.count }
        return permission.levels.firstIndex(of: level) ?? -1
    }

    /// Whether everything that this declares was covered by an approved one: an update can only shrink unasked.
    func isWithin(_ approved: Declaration, _ permission: PermissionCatalogue.Permission) -> Bool {
        let widest = permission.levels.count - 1
        let wanted = min(Self.place(level, permission), widest)
        guard wanted <= Self.place(approved.level, permission) else { return false }
        for (scope, declared) in scopes where approved.scopes[scope] == nil {
            let rule = ScopeMatch(scope, of: permission.name)
            guard declared.allSatisfy(rule.isInUnlimited) else { return false }
        }
        for (scope, allowed) in approved.scopes {
            guard let declared = scopes[scope] else { return false }
            let rule = ScopeMatch(scope, of: permission.name)
            let covered = declared.allSatisfy { entry in allowed.contains { rule.covers($0, entry) } }
            guard covered else { return false }
        }
        return operationsAreWithin(approved)
    }

    /// Operations that are on by name are all there are; else all are but those that are off.
    private func operationsAreWithin(_ approved: Declaration) -> Bool {
        let off = Set(approved.operations.filter { !$0.value }.keys)
        let on = Set(approved.operations.filter(\.value).keys)
        let mine = Set(operations.filter(\.value).keys)
        if !on.isEmpty { return !mine.isEmpty && mine.isSubset(of: on) }
        if off.isEmpty { return true }
        // A list of what is on is not compared with one of what is off: a person is asked.
        let mineOff = Set(operations.filter { !$0.value }.keys)
        return off.isSubset(of: mineOff)
    }
}
