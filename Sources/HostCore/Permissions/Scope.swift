import ApsuleKit

extension Declaration {
    /// Why the declaration does not cover a call, or nil where it does.
    func refusal(_ question: Question, _ need: Need, _ permission: PermissionCatalogue.Permission) -> String? {
        if !operations.isEmpty, !question.operation.isEmpty {
            let short = question.operation.split(separator: ".", maxSplits: 1).last.map(String.init) ?? ""
            switch operations[question.operation] ?? operations[short] {
            case false?: return "The project switches \(question.operation) off."
            // Where operations are switched on by name, the others are off.
            case nil where operations.values.contains(true): return "The project does not switch \(question.operation) on."
            default: break
            }
        }
        if let wanted = need.level, let place = permission.levels.firstIndex(of: wanted) {
            let declared = level.flatMap(permission.levels.firstIndex(of:)) ?? (level == nil ? permission.levels.count - 1 : -1)
            if declared < place { return "The level \(wanted) is needed, \(level ?? "none") is declared." }
        }
        for (scope, values) in need.scopes {
            guard let allowed = scopes[scope] else { continue }
            for value in values where !allowed.contains(where: { ScopeMatch.matches($0, value, scope: scope) }) {
                return "\(SafeText.escape(value)) is outside the declared \(scope)."
            }
        }
        return nil
    }

    /// Whether everything that this declares was covered by an approved one: an update can only shrink unasked.
    func isWithin(_ approved: Declaration, _ permission: PermissionCatalogue.Permission) -> Bool {
        func place(_ level: String?) -> Int { level.flatMap(permission.levels.firstIndex(of:)) ?? permission.levels.count - 1 }
        guard place(level) <= place(approved.level) else { return false }
        for (scope, allowed) in approved.scopes {
            guard let declared = scopes[scope], Set(declared).isSubset(of: allowed) else { return false }
        }
        guard approved.operations.isEmpty else { return operations == approved.operations }
        return true
    }
}

/// How a scope entry is compared with a value.
enum ScopeMatch {
    static func matches(_ entry: String, _ value: String, scope: String) -> Bool {
        switch scope {
        case "services": return normalizedUUID(entry) == normalizedUUID(value)
        default: return entry == value
        }
    }

    /// `180d`, `0x180D` and the 128-bit form are one UUID; other names are compared in lower case.
    static func normalizedUUID(_ text: String) -> String {
        var text = text.lowercased()
        if text.hasPrefix("0x") { text.removeFirst(2) }
        let isHex = text.utf8.allSatisfy { $0.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
        if isHex, text.utf8.count == 4 { return "0000\(text)-0000-1000-8000-00805f9b34fb" }
        if isHex, text.utf8.count == 8 { return "\(text)-0000-1000-8000-00805f9b34fb" }
        return text
    }
}
