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

/// The durable grants of all projects: `grants.db` in the state folder. Several processes may have it open.
public final class GrantStore: Sendable {
    private let database: Mutex<SQLiteConnection>
    private let folder: SecureFolder

    /// - Throws: `grants.corrupt` and the like, `host.state_unusable`.
    public init(state: String) throws(HostError) {
        folder = try SecureFolder.make(state)
        var connection = try SQLiteConnection(path: "/proc/self/fd/\(folder.descriptor)/grants.db", family: "grants")
        try connection.migrate([
            [
                """
                CREATE TABLE grants (
                    id TEXT NOT NULL, origin TEXT NOT NULL, permission TEXT NOT NULL, allowed INTEGER NOT NULL,
                    declaration TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER,
                    PRIMARY KEY (id, origin, permission))
                """
            ]
        ])
        database = Mutex(connection)
    }

    public func grants(of identity: ProjectIdentity? = nil) throws(HostError) -> [Grant] {
        let rows = try locked { database throws(HostError) in
            try database.query("SELECT * FROM grants ORDER BY id, origin, permission")
        }
        return rows.compactMap { row in
            guard let id = row["id"]?.textValue, let origin = row["origin"]?.textValue, let permission = row["permission"]?.textValue,
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
            .text(grant.identity.id), .text(grant.identity.origin), .text(grant.permission), .int(grant.isAllowed ? 1 : 0),
            .text(grant.declaration.json.text), .int(grant.created), grant.expires.map { .int($0) } ?? .null,
        ]
        _ = try locked { database throws(HostError) in
            try database.execute("INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        }
    }

    /// Forgets decisions: of one project or of all with the id, about one permission or all.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func remove(id: String, origin: String? = nil, permission: String? = nil) throws(HostError) -> Int {
        try locked { database throws(HostError) in
            try database.execute(
                "DELETE FROM grants WHERE id = ?1 AND (?2 IS NULL OR origin = ?2) AND (?3 IS NULL OR permission = ?3)",
                [.text(id), origin.map { .text($0) } ?? .null, permission.map { .text($0) } ?? .null])
        }
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
        return try result.get()
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
