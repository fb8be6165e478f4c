internal import ApsuleKit

/// What a recording cannot answer, and why.
enum ReplayErrors {
    /// No call like this one, or not as many: with the nearest that was recorded.
    static func noMatch(_ key: CallKey, _ occurrence: Int, candidates: [CallKey: Int]) -> HostError {
        var details: JSON = [
            "operation": .string(key.operation), "arguments": key.arguments, "occurrence": .int(Int64(occurrence)),
        ]
        if let count = candidates[key] {
            details.set("recorded", .int(Int64(count)))
            let times = count == 1 ? "once" : "\(count) times"
            return HostError(
                "replay.no_match",
                "\(key.operation) was recorded with these arguments \(times), this is call "
                    + "\(occurrence).", details: details)
        }
        let nearest = candidates.keys.map { ($0, key.differences($0)) }
            .min { ($0.1.count, $0.0.arguments.text) < ($1.1.count, $1.0.arguments.text) }
        guard let (nearest, differences) = nearest else {
            return HostError(
                "replay.no_match", "\(key.operation) is not in the recording, though others of its family are.",
                details: details)
        }
        details.set("nearest", nearest.arguments)
        details.set("differs", .array(differences.map { .string($0) }))
        return HostError(
            "replay.no_match",
            "\(key.operation) was not recorded with these arguments; the nearest call differs in "
                + "\(differences.joined(separator: ", ")).", details: details)
    }

    /// The call was still running when the recording ended.
    static func ended(_ key: CallKey) -> HostError {
        HostError(
            "replay.ended", "The recording ends before \(key.operation) did.",
            details: ["operation": .string(key.operation)])
    }

    static func redacted(_ key: CallKey) -> HostError {
        HostError(
            "replay.redacted", "What \(key.operation) gave is secret and was not recorded.",
            details: ["operation": .string(key.operation)])
    }
}
