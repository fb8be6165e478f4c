import ApsuleKit

/// The bounds that every message of every caller has.
enum ArgumentLimits {
    /// Parses arguments within the limits.
    ///
    /// - Throws: `host.payload_too_large`, `host.payload_too_deep`, `host.invalid_argument`.
    static func parse(_ payload: Payload) throws(HostError) -> JSON {
        if let error = refusal(of: payload, "arguments") { throw error }
        do { return try JSON(parsing: payload.json) } catch {
            if error.isTooDeep {
                throw HostError("host.payload_too_deep", "Arguments are nested deeper than 64.", details: ["limit": 64])
            }
            throw .invalidArgument("", expected: "JSON", got: "\(error.message) at byte \(error.offset)")
        }
    }

    /// Whether what works through all of it once may do so on the caller's thread: 16 KiB take some ten microseconds.
    static func isSmall(_ payload: Payload) -> Bool {
        payload.blobs.reduce(payload.json.count) { $0 + $1.count } <= 16 << 10
    }

    /// `host.payload_too_large` for a message over the limits, whoever sent it.
    ///
    /// - Parameter what: "arguments", "result of device.info".
    static func refusal(of payload: Payload?, _ what: String) -> HostError? {
        guard let payload else { return nil }
        if payload.json.count > Dispatcher.maximumJSON {
            return tooLarge("JSON of the \(what)", payload.json.count, Dispatcher.maximumJSON)
        }
        guard !payload.blobs.isEmpty else { return nil }
        let size = payload.blobs.reduce(0) { $0 + $1.count }
        return size > Dispatcher.maximumBlobs ? tooLarge("blobs of the \(what)", size, Dispatcher.maximumBlobs) : nil
    }

    private static func tooLarge(_ what: String, _ size: Int, _ limit: Int) -> HostError {
        HostError(
            "host.payload_too_large", "The \(what) take \(size) bytes, more than \(limit).",
            details: ["size": .int(Int64(size)), "limit": .int(Int64(limit))])
    }
}
