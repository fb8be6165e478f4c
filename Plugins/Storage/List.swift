import ApsuleKit
import ApsuleSQLite

extension StorageFamily {
    /// Lists keys in the order of their bytes.
    ///
    /// - Parameter call: `{prefix?: string, limit?: integer (1 to 1000), cursor?: string, values?: boolean}`.
    /// - Returns: `{keys: [string], entries?: [{key, value}], cursor: string | null}`; entries where `values` is true, and
    ///   a page then ends at 4 MiB too. The cursor goes on behind the last key, whatever happened to it.
    /// - Throws: `host.invalid_argument` for a cursor that is none, `storage.corrupt`, `storage.busy`, …
    func list(_ call: Call) throws -> JSON {
        let prefix = try Key(call["prefix"] ?? "")
        let limit = try call["limit"] ?? 100
        let withValues = try call["values"] ?? false
        let page = try read(
            from: try start(call, prefix), through: prefix, limit: limit, withValues: withValues)
        var result: JSON = ["keys": .array(page.keys.map(\.text))]
        if withValues {
            let entries = try zip(page.keys, page.values).map { (key, value) throws(HostError) -> JSON in
                ["key": key.text, "value": try Value.read(value)]
            }
            result.set("entries", .array(entries))
        }
        result.set("cursor", page.isLast ? .null : page.keys.last.map { .string(Base64.encode($0.bytes, url: true)) })
        return result
    }

    private struct Page {
        var keys: [Key] = []
        var values: [SQLiteValue] = []
        var size = 0
        var isLast = true
    }

    /// The key that the page is behind: the cursor's; without one what comes before every key with the prefix.
    private func start(_ call: Call, _ prefix: Key) throws(HostError) -> (bytes: [UInt8], isIncluded: Bool) {
        guard let cursor: String = try call["cursor"] else { return (prefix.bytes, true) }
        guard let bytes = Base64.decode(cursor) else {
            throw .invalidArgument("cursor", expected: "the cursor of a page before", got: JSON.string(cursor).summary)
        }
        // A cursor of another prefix starts where this one's keys do.
        return bytes.lexicographicallyPrecedes(prefix.bytes) ? (prefix.bytes, true) : (bytes, false)
    }

    private func read(
        from start: (bytes: [UInt8], isIncluded: Bool), through prefix: Key, limit: Int, withValues: Bool
    ) throws(HostError) -> Page {
        // 0xff is no byte of UTF-8: it ends the range of the keys that start with the prefix.
        let sql = """
            SELECT key, \(withValues ? "value" : "NULL") FROM entries
            WHERE key \(start.isIncluded ? ">=" : ">") ? AND key < ? ORDER BY key LIMIT ?
            """
        let values: [SQLiteValue] = [.blob(start.bytes), .blob(prefix.bytes + [0xff]), .int(Int64(limit) + 1)]
        return try store.use { (database) throws(HostError) in
            var page = Page()
            try database.forEachRow(sql, values) { row in
                let size = row[1].textValue?.utf8.count ?? 0
                guard page.keys.count < limit, page.keys.isEmpty || page.size + size <= Value.greatest else {
                    page.isLast = false
                    return false
                }
                page.keys.append(Key(row[0]))
                page.values.append(row[1])
                page.size += size
                return true
            }
            return page
        }
    }
}
