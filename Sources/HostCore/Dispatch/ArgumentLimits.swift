import ApsuleKit

/// The bounds that every message of every caller has.
enum ArgumentLimits {
    /// Parses arguments within the limits.
    ///
    /// - Throws: `host.payload_too_large`, `host.payload_too_deep`, `host.invalid_argument`.
    static func parse(_ payload: Payload) throws(HostError) -> JSON {
        try check("arguments", payload.json.count, Dispatcher.maximumJSON)
        if !payload.blobs.isEmpty {
            try check("blobs", payload.blobs.reduce(0) { $0 + $1.count }, Dispatcher.maximumBlobs)
        }
        do { return try JSON(parsing: payload.json) } catch {
            if error.isTooDeep {
                throw HostError("host.payload_too_deep", "Arguments are nested deeper than 64.", details: ["limit": 64])
            }
            throw .invalidArgument("", expected: "JSON", got: "\(error.message) at byte \(error.offset)")
        }
    }

    private static func check(_ what: String, _ size: Int, _ limit: Int) throws(HostError) {
        guard size > limit else { return }
        throw HostError(
            "host.payload_too_large", "The \(what) are \(size) bytes, more than \(limit).",
            details: ["size": .int(Int64(size)), "limit": .int(Int64(limit))])
    }
}
