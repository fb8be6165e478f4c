public import ApsuleKit
internal import Synchronization

/// Taking permissions away: here, by another process, or by time.
extension PermissionAuthority {
    public func onRevoked(_ handler: @escaping @Sendable (Revocation) -> Void) {
        let isFirst = state.withLock { state in
            state.handlers.append(handler)
            return state.handlers.count == 1
        }
        guard isFirst else { return }
        // Other processes change the database's files; what expires is looked for now and then.
        let watch = FolderWatch([store.folder], for: .writes, tick: 500) { [weak self] changed in
            if changed.isEmpty || changed.contains(where: { $0.name.hasPrefix("grants.db") }) { self?.refresh() }
        }
        state.withLock { $0.watch = watch }
    }

    /// Looks whether another process took grants away, and whether some have expired.
    public func refresh() {
        let version = store.version()
        let (isChanged, suspects, last) = state.withLock { state -> (Bool, Set<String>, Int64) in
            defer { state.version = version }
            return (version != state.version, state.durable, state.lastRevocation)
        }
        if isChanged { readRevocations(after: last) }
        for name in suspects where state.withLock({ $0.durable.contains(name) }) {
            // What cannot be read now says nothing about what was decided.
            guard let grants = try? store.grants(of: subject.identity) else { return }
            let expires = grants.first { $0.permission == name }?.expires
            settle(name, isExpired: expires.map { $0 <= Clock.wall } ?? false)
        }
    }

    /// Ends what a grant that changed allowed, unless something else allows it.
    ///
    /// After one that has expired a person may be asked again.
    private func settle(_ name: String, isExpired: Bool) {
        if case .allowed = step(Question(operation: "", needs: []), Need(permission: name)) { return }
        revoked(name, isDenied: !isExpired)
    }

    private func readRevocations(after last: Int64) {
        guard let rows = try? store.revocations(of: subject.identity, after: last), !rows.isEmpty else { return }
        state.withLock { $0.lastRevocation = max($0.lastRevocation, rows.map(\.number).max() ?? 0) }
        for row in rows {
            let given = state.withLock { $0.run.union($0.durable).union($0.once) }
            let names =
                row.permission.map { [$0] } ?? given.union(subject.declarations.map { Set($0.keys) } ?? []).sorted()
            for name in names {
                var isAllowed = given.contains(name)
                if case .allowed = step(Question(operation: "", needs: []), Need(permission: name)) { isAllowed = true }
                if isAllowed { revoked(name, isDenied: true) }
            }
        }
    }

    /// Takes a permission away now: for the run, and for good.
    public func revoke(_ permission: String) throws(HostError) {
        try store.remove(id: subject.identity.id, origin: subject.identity.origin, permission: permission)
        revoked(permission, isDenied: true)
    }

    private func revoked(_ permission: String, isDenied: Bool) {
        let handlers = state.withLock { state in
            state.run.remove(permission)
            state.once.remove(permission)
            state.durable.remove(permission)
            if isDenied { state.deniedForRun.insert(permission) }
            return state.handlers
        }
        write(isDenied ? "revoked" : "expired", permission)
        for handler in handlers { handler(Revocation(permission: permission)) }
    }
}
