import ApsuleKit
import ApsuleSQLite
import Glibc

/// The files of one store, in the family's private folder.
///
/// A new database gets its name only when it is complete: a file of that name without the table is a damaged one, never one
/// that somebody was about to make. Whoever makes or replaces it holds the folder's lock alone.
struct StoreFiles {
    let folder: Int32
    let limit: Int64

    private static let name = "storage.db"
    private static let draft = "storage.new.db"
    private static let schema = [
        ["CREATE TABLE entries (key BLOB NOT NULL PRIMARY KEY, value TEXT NOT NULL)"]
    ]

    /// Nil where there is no database yet.
    var identity: FileIdentity? { FileIdentity(folder, Self.name) }

    /// - Throws: `storage.corrupt` for what is no database of ours, an empty file too.
    func open() throws(HostError) -> SQLiteConnection {
        // SQLite takes a file without a header for a new one, and makes it one.
        guard hasHeader else { throw Self.damage("the file is cut off") }
        var database = try connect(Self.name, .readWrite)
        if try database.query("PRAGMA user_version").first?[0] == 0 {
            throw Self.damage("the table is missing")
        }
        try database.migrate(Self.schema)
        return database
    }

    /// Makes an empty database.
    func make() throws(HostError) {
        _ = try makeDraft(salvaging: false)
        try install()
    }

    /// Puts the damaged file aside and a database with what can be read of it in its place.
    ///
    /// - Returns: the damaged file's new name, and how many entries were read.
    func replaceDamaged() throws(HostError) -> (name: String, count: Int) {
        let count = try makeDraft(salvaging: true)
        var aside = "storage.damaged-\(time(nil)).db"
        var attempt = 0
        while linkat(folder, Self.name, folder, aside, 0) != 0 {
            guard errno == EEXIST, attempt < 100 else { throw failure("keep the damaged file") }
            attempt += 1
            aside = "storage.damaged-\(time(nil))-\(attempt).db"
        }
        renameat(folder, Self.name + "-wal", folder, aside + "-wal")
        try install()
        return (aside, count)
    }

    private func connect(_ name: String, _ mode: SQLiteConnection.Mode) throws(HostError) -> SQLiteConnection {
        try SQLiteConnection(
            path: "/proc/self/fd/\(folder)/\(name)", mode: mode, family: StorageFamily.name, maximumBytes: limit)
    }

    private func makeDraft(salvaging: Bool) throws(HostError) -> Int {
        for end in ["", "-wal", "-shm"] { unlinkat(folder, Self.draft + end, 0) }
        var draft = try connect(Self.draft, .create)
        try draft.migrate(Self.schema)
        return salvaging ? try salvage(into: &draft) : 0
        // Closing it here, as the only user, writes the log into the file.
    }

    /// Gives the draft its name; a log that lay beside the old file would be taken for the new one's.
    private func install() throws(HostError) {
        for end in ["-wal", "-shm"] { unlinkat(folder, Self.name + end, 0) }
        guard renameat(folder, Self.draft, folder, Self.name) == 0 else { throw failure("name the new file") }
        fsync(folder)
    }

    /// Copies what can be read: from the first entry to the damage, and from the last one back to it.
    private func salvage(into draft: inout SQLiteConnection) throws(HostError) -> Int {
        guard hasHeader, var damaged = try? connect(Self.name, .damaged) else { return 0 }
        return try draft.transaction { (draft) throws(HostError) in
            var count = 0
            for order in ["", "DESC"] {
                var refused: HostError?
                _ = try? damaged.forEachRow("SELECT key, value FROM entries ORDER BY rowid \(order)") { row in
                    guard row[0].blobValue != nil, row[1].textValue != nil else { return true }
                    do throws(HostError) {
                        count += try draft.execute("INSERT OR IGNORE INTO entries VALUES (?, ?)", row.values)
                    } catch {
                        refused = error
                    }
                    return refused == nil
                }
                if let refused { throw refused }
            }
            return count
        }
    }

    private var hasHeader: Bool {
        var status = stat()
        return fstatat(folder, Self.name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_size >= 512
    }

    /// Damage that SQLite does not see, with its own code for it.
    private static func damage(_ what: String) -> HostError {
        HostError("storage.corrupt", what, details: ["sqliteCode": 11])
    }

    private func failure(_ what: String) -> HostError {
        HostError("storage.io_error", "Cannot \(what): \(String(cString: strerror(errno))).")
    }
}

/// Which file a name stands for.
struct FileIdentity: Equatable {
    private let device: dev_t
    private let inode: ino_t

    init?(_ folder: Int32, _ name: String) {
        var status = stat()
        guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        (device, inode) = (status.st_dev, status.st_ino)
    }
}

/// A lock on a folder that all processes with its project take.
///
/// Source: <https://man7.org/linux/man-pages/man2/flock.2.html>
struct FolderLock: ~Copyable {
    private let descriptor: Int32

    init(_ folder: Int32) throws(HostError) {
        // A description of its own: locks go with it, and the host's descriptor is everybody's.
        descriptor = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw HostError("storage.io_error", "The folder cannot be locked: \(String(cString: strerror(errno))).")
        }
    }

    deinit { close(descriptor) }

    func share() { flock(descriptor, LOCK_SH) }
    func claim() { flock(descriptor, LOCK_EX) }
    func release() { flock(descriptor, LOCK_UN) }
}
