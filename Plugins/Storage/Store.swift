import ApsuleKit
import ApsuleSQLite
import Glibc
import Synchronization

/// The project's database, opened at its first use and again where its file has been replaced.
///
/// One thread of this process uses it at a time. Of other processes SQLite keeps account, but for the replacing of a
/// damaged file: whoever does that holds the folder's lock alone, and everybody else holds it shared while at work.
final class Store: Sendable {
    private let project: Project
    private let limit: Int64
    private let state = Mutex(State())

    private struct State: ~Copyable {
        var lock: FolderLock?
        var database: SQLiteConnection?
        /// The file that `database` has open.
        var file: FileIdentity?
    }

    private static let defaultLimit: Int64 = 256 << 20

    /// The owner's setting `maximumBytes` bounds the file.
    init(_ project: Project) {
        self.project = project
        limit = project.settings["maximumBytes"]?.intValue ?? Self.defaultLimit
    }

    /// Runs `body` with the database; once more where there was no space until the log was emptied.
    ///
    /// - Throws: `storage.<reason>`. After `storage.corrupt` the damaged file has been put aside under the name in the
    ///   details, and the next use finds a database with what could be read of it.
    func use<R: Sendable>(_ body: (inout SQLiteConnection) throws(HostError) -> R) throws(HostError) -> R {
        try state.withLock { (state) throws(HostError) -> sending R in
            let files = StoreFiles(folder: try project.dataDirectory(), limit: limit)
            if state.lock == nil { state.lock = try FolderLock(files.folder) }
            state.lock?.share()
            defer { state.lock?.release() }
            do throws(HostError) {
                try Self.open(&state, files)
                do throws(HostError) { return try Self.run(&state, body) } catch {
                    guard error.code == "storage.full" else { throw error }
                    _ = try? Self.run(&state) { (database) throws(HostError) in
                        try database.query("PRAGMA wal_checkpoint(TRUNCATE)")
                    }
                    return try Self.run(&state, body)
                }
            } catch {
                guard error.isSQLiteCorruption else { throw error }
                throw repair(&state, files, error)
            }
        }
    }

    /// Closes the database, which also writes its log into its file.
    func close() { state.withLock { $0.database = nil } }

    private static func open(_ state: inout State, _ files: StoreFiles) throws(HostError) {
        let file = files.identity
        if state.database != nil, file == state.file { return }
        state.database = nil
        if file == nil {
            state.lock?.claim()
            if files.identity == nil { try files.make() }
            state.lock?.share()
        }
        state.file = files.identity
        state.database = try files.open()
    }

    private static func run<R>(
        _ state: inout State, _ body: (inout SQLiteConnection) throws(HostError) -> R
    ) throws(HostError) -> R {
        guard let result = try state.database?.with(body) else { throw HostError("storage.cannot_open", "Not open.") }
        return result
    }

    /// Puts the damaged file aside, unless another process has done so meanwhile, and says what became of it.
    private func repair(_ state: inout State, _ files: StoreFiles, _ error: HostError) -> HostError {
        state.database = nil
        state.lock?.claim()
        guard files.identity == state.file else {
            return HostError(
                error.code, "The project's storage was damaged; another process is repairing it. Try again.",
                details: error.details)
        }
        var report = error
        do {
            let (name, count) = try files.replaceDamaged()
            report.message =
                "The project's storage was damaged (\(error.message)). What could be read of it, \(count) entries, is there "
                + "again; the damaged file is kept as \(name)."
            report.details.set("quarantined", .string(name))
            report.details.set("recovered", .int(Int64(count)))
        } catch {
            report.message = "The project's storage is damaged and cannot be replaced: \(error.message)"
        }
        project.log(.error, report.message)
        return report
    }
}
