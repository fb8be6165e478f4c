import ApsuleKit
import ApsuleSQLite
import Glibc
import Synchronization

/// The one database of a project, opened at its first use.
///
/// One call uses it at a time. A transaction that a call leaves open is the project's: every later call is within it, until
/// one ends it or the project ends, which takes it back.
final class Database: Sendable {
    private let project: Project
    private let limit: Int64
    private let guarding = SQLiteGuard()
    private let state = Mutex(State())

    private struct State: ~Copyable { var connection: SQLiteConnection? }

    private static let name = "database.db"
    private static let defaultLimit: Int64 = 1 << 30

    /// The owner's setting `maximumBytes` bounds the file.
    init(_ project: Project) {
        self.project = project
        limit = project.settings["maximumBytes"]?.intValue ?? Self.defaultLimit
    }

    /// Runs `body` with the database, for as long as the call is wanted.
    func use<R: Sendable>(
        _ call: Call, _ body: (inout SQLiteConnection) throws(HostError) -> R
    ) throws(HostError) -> R {
        try state.withLock { (state) throws(HostError) -> sending R in
            // Others may have had their turn for a long time.
            guard !call.isCancelled else { throw .cancelled }
            if state.connection == nil { state.connection = try open() }
            do throws(HostError) {
                let result = try guarding.watching({ call.isCancelled }) { () throws(HostError) in
                    try state.connection?.with(body)
                }
                guard let result else { throw HostError("database.cannot_open", "Not open.") }
                return result
            } catch {
                throw call.isCancelled ? .cancelled : error
            }
        }
    }

    /// Takes an open transaction back and closes the database.
    func close() { state.withLock { $0.connection = nil } }

    private func open() throws(HostError) -> SQLiteConnection {
        let folder = try project.dataDirectory()
        var status = stat()
        // SQLite would follow a link, and take a FIFO for a file.
        if fstatat(folder, Self.name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw HostError("database.cannot_open", "\(Self.name) in the family's folder is no file.")
        }
        return try SQLiteConnection(
            path: "/proc/self/fd/\(folder)/\(Self.name)", family: DatabaseFamily.name, maximumBytes: limit,
            guarding: guarding)
    }
}
