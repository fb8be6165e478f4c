public import ApsuleKit
internal import ApsuleSQLite
internal import Glibc
internal import Synchronization

/// What a person decided for good about one permission of one project.
public struct Grant: Sendable, Hashable {
    public let identity: ProjectIdentity
    public let permission: String
    /// False: never.
    public let isAllowed: Bool
    /// What was declared when it was approved; an update that declares more is asked about again.
    public let declaration: Declaration
    /// Milliseconds of the wall clock.
    public let created: Int64
    public let expires: Int64?

    public init(
        identity: ProjectIdentity, permission: String, isAllowed: Bool, declaration: Declaration, created: Int64,
        expires: Int64? = nil
    ) {
        (self.identity, self.permission, self.isAllowed) = (identity, permission, isAllowed)
        (self.declaration, self.created, self.expires) = (declaration, created, expires)
    }
}

/// The durable grants of all projects: `grants.db` in the state folder.
///
/// Several processes may have it open.
public final class GrantStore: Sendable {
    /// The state folder.
    public let folder: String
    private let database: Mutex<SQLiteConnection>
    private let handle: SecureFolder

    /// - Throws: `grants.corrupt` and the like, `grants.not_owner_only`, `host.state_unusable`.
    public init(state: String) throws(HostError) {
        folder = state
        handle = try SecureFolder.make(state)
        for name in ["", "-wal", "-shm", "-journal"] {
            try handle.checkOwner("grants.db" + name, code: "grants.not_owner_only")
        }
        do throws(HostError) {
            var connection = try SQLiteConnection(
                path: "/proc/self/fd/\(handle.descriptor)/grants.db", family: "grants")
            // Before the first write: the files beside it get the same mode.
            _ = fchmodat(handle.descriptor, "grants.db", 0o600, 0)
            try connection.migrate(Self.versions)
            database = Mutex(connection)
        } catch {
            throw Self.explained(error, state)
        }
    }

    private static let versions = [
        [
            """
            CREATE TABLE grants (
                id TEXT NOT NULL, origin TEXT NOT NULL, permission TEXT NOT NULL, allowed INTEGER NOT NULL,
                declaration TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER,
                PRIMARY KEY (id, origin, permission))
            """
        ],
        [
            // What running projects have to hear of, also where they were allowed for their run only.
            """
            CREATE TABLE revocations (
                number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, origin TEXT, permission TEXT,
                created INTEGER NOT NULL)
            """
        ],
    ]

    /// The error with the file, the reason and what a person can do.
    private static func explained(_ error: HostError, _ state: String) -> HostError {
        let path = "\(state)/grants.db"
        let fix =
            switch error.code {
            case "grants.corrupt": "Move \(path) away: every project is asked again."
            case "grants.full": "Free some space on the disk of \(path)."
            case "grants.newer_version": "Use the newer apsule, or another --state DIR."
            default: "Make \(path) readable and writable, or use --state DIR."
            }
        var error = error
        error.message = "\(path): \(error.message)"
        for (key, value) in [("path", path), ("reason", error.message), ("fix", fix)] {
            error.details.set(key, .string(value))
        }
        return error
    }

    public func grants(of identity: ProjectIdentity? = nil) throws(HostError) -> [Grant] {
        let rows = try locked { database throws(HostError) in
            try database.query("SELECT * FROM grants ORDER BY id, origin, permission")
        }
        return rows.compactMap { row in
            guard let id = row["id"]?.textValue, let origin = row["origin"]?.textValue,
                let permission = row["permission"]?.textValue,
                let declaration = row["declaration"]?.textValue.flatMap({ try? JSON(parsing: $0) })
            else { return nil }
            let owner = ProjectIdentity(id: id, origin: origin)
            guard identity == nil || identity == owner else { return nil }
            return Grant(
                identity: owner, permission: permission, isAllowed: row["allowed"]?.intValue == 1,
                declaration: Declaration(json: declaration), created: row["created"]?.intValue ?? 0,
                expires: row["expires"]?.intValue)
        }
    }

    public func grant(of identity: ProjectIdentity, _ permission: String) throws(HostError) -> Grant? {
        try grants(of: identity).first { $0.permission == permission }
    }

    public func save(_ grant: Grant) throws(HostError) {
        let values: [SQLiteValue] = [
            .text(grant.identity.id), .text(grant.identity.origin), .text(grant.permission),
            .int(grant.isAllowed ? 1 : 0),
            .text(grant.declaration.json.text), .int(grant.created), grant.expires.map { .int($0) } ?? .null,
        ]
        _ = try locked { database throws(HostError) in
            try database.execute("INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        }
    }

    /// Forgets decisions, of one project or of all with the id, about one permission or all, and tells running projects.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func remove(id: String, origin: String? = nil, permission: String? = nil) throws(HostError) -> Int {
        let origin: SQLiteValue = origin.map { .text($0) } ?? .null
        let permission: SQLiteValue = permission.map { .text($0) } ?? .null
        return try locked { database throws(HostError) in
            try database.transaction { database throws(HostError) in
                // A day is longer than any process takes to look.
                try database.execute("DELETE FROM revocations WHERE created < ?", [.int(Clock.wall - 86_400_000)])
                try database.execute(
                    "INSERT INTO revocations (id, origin, permission, created) VALUES (?, ?, ?, ?)",
                    [.text(id), origin, permission, .int(Clock.wall)])
                return try database.execute(
                    "DELETE FROM grants WHERE id = ?1 AND (?2 IS NULL OR origin = ?2) AND (?3 IS NULL OR permission = ?3)",
                    [.text(id), origin, permission])
            }
        }
    }

    /// What was taken away from a project since the revocation with the number `last`; nil: every permission.
    func revocations(
        of identity: ProjectIdentity, after last: Int64
    ) throws(HostError) -> [(number: Int64, permission: String?)] {
        let rows = try locked { database throws(HostError) in
            try database.query(
                """
                SELECT number, permission FROM revocations
                WHERE number > ? AND id = ? AND (origin IS NULL OR origin = ?) ORDER BY number
                """, [.int(last), .text(identity.id), .text(identity.origin)])
        }
        return rows.map { ($0[0].intValue ?? last, $0[1].textValue) }
    }

    /// The number of the newest revocation.
    func lastRevocation() -> Int64 {
        let rows = try? locked { database throws(HostError) in
            try database.query("SELECT seq FROM sqlite_sequence WHERE name = 'revocations'")
        }
        return rows?.first?[0].intValue ?? 0
    }

    /// Changes with every decision that any process saves.
    public func version() -> Int64 {
        let rows = try? locked { database throws(HostError) in try database.query("PRAGMA data_version") }
        return rows?.first?.values.first?.intValue ?? 0
    }

    private func locked<R: Sendable>(
        _ body: (inout SQLiteConnection) throws(HostError) -> R
    ) throws(HostError) -> R {
        let result: Result<R, HostError> = database.withLock { database in
            do throws(HostError) { return .success(try body(&database)) } catch { return .failure(error) }
        }
        do throws(HostError) { return try result.get() } catch { throw Self.explained(error, folder) }
    }
}

extension Declaration {
    /// Reads what `json` wrote.
    init(json: JSON) {
        level = json["level"]?.stringValue
        reason = json["reason"]?.stringValue
        for member in json.members ?? [] {
            if let values = member.value.arrayValue { scopes[member.key] = values.compactMap(\.stringValue) }
        }
        for member in json["operations"]?.members ?? [] { operations[member.key] = member.value.boolValue ?? false }
    }
}
