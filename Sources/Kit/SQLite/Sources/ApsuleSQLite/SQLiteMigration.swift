public import ApsuleKit

extension SQLiteConnection {
    /// Brings the schema up to date: each element is one version, a list of statements that run once, all in one change.
    ///
    /// - Throws: `<family>.newer_version` where a later version of the program made the file.
    public mutating func migrate(_ versions: [[String]]) throws(HostError) {
        try transaction { (connection) throws(HostError) in
            let version = Int(try connection.query("PRAGMA user_version").first?[0].intValue ?? 0)
            guard version <= versions.count else {
                throw HostError(
                    "\(connection.family).newer_version",
                    "The database has version \(version), made by a newer program; this one knows \(versions.count).",
                    details: ["version": .int(Int64(version)), "known": .int(Int64(versions.count))])
            }
            guard version < versions.count else { return }
            for statement in versions[version...].joined() { try connection.execute(statement) }
            try connection.execute("PRAGMA user_version = \(versions.count)")
        }
    }
}
