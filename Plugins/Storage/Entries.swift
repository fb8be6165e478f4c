import ApsuleKit
import ApsuleSQLite

extension StorageFamily {
    /// Reads a value.
    ///
    /// - Parameter call: `{key: string}` (at most 1024 bytes).
    /// - Returns: the value, null where there is none.
    /// - Throws: `storage.key_too_long`, `storage.corrupt`, `storage.busy`, …
    func get(_ call: Call) throws -> JSON {
        let key = try Key(call["key"])
        let rows = try store.use { (database) throws(HostError) in
            try database.query("SELECT value FROM entries WHERE key = ?", [key.bound])
        }
        return try rows.first.map { try Value.read($0[0]) } ?? .null
    }

    /// Keeps a value.
    ///
    /// - Parameter call: `{key: string (at most 1024 bytes), value: any JSON (at most 4 MiB)}`.
    /// - Returns: null, once it is on the disk.
    /// - Throws: `storage.key_too_long`, `storage.value_too_large`, `storage.full`, `storage.busy`, …
    func set(_ call: Call) throws -> JSON {
        let key = try Key(call["key"])
        let value = try Value.write(try call.arguments.child("value").data())
        try store.use { (database) throws(HostError) in
            _ = try database.execute(
                "INSERT INTO entries (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [key.bound, value])
        }
        return .null
    }

    /// Removes a value.
    ///
    /// - Parameter call: `{key: string}` (at most 1024 bytes).
    /// - Returns: whether there was one.
    /// - Throws: `storage.key_too_long`, `storage.full`, `storage.busy`, …
    func delete(_ call: Call) throws -> JSON {
        let key = try Key(call["key"])
        let count = try store.use { (database) throws(HostError) in
            try database.execute("DELETE FROM entries WHERE key = ?", [key.bound])
        }
        return .bool(count > 0)
    }
}

/// A key as the database has it: the bytes of its UTF-8, so that no two spellings of a character are one key, a zero byte
/// is like any other, and the order is that of the bytes.
struct Key {
    let bytes: [UInt8]
    var bound: SQLiteValue { .blob(bytes) }
    var text: JSON { .string(String(decoding: bytes, as: UTF8.self)) }

    private static let greatest = 1024

    init(_ text: String) throws(HostError) {
        bytes = Array(text.utf8)
        guard bytes.count <= Self.greatest else {
            throw HostError(
                "storage.key_too_long", "The key has \(bytes.count) bytes, more than \(Self.greatest).",
                details: ["size": .int(Int64(bytes.count)), "limit": .int(Int64(Self.greatest))])
        }
    }

    init(_ stored: SQLiteValue) { bytes = stored.blobValue ?? [] }
}

/// A value as the database has it: JSON text.
enum Value {
    static let greatest = 4 << 20

    static func write(_ json: JSON) throws(HostError) -> SQLiteValue {
        let text = json.text
        let size = text.utf8.count
        guard size <= greatest else {
            throw HostError(
                "storage.value_too_large", "The value has \(size) bytes as JSON, more than \(greatest).",
                details: ["size": .int(Int64(size)), "limit": .int(Int64(greatest))])
        }
        return .text(text)
    }

    static func read(_ stored: SQLiteValue) throws(HostError) -> JSON {
        do { return try JSON(parsing: Array((stored.textValue ?? "").utf8)).escaped } catch {
            throw HostError("storage.corrupt", "The stored value is no JSON: \(error.message).")
        }
    }
}
