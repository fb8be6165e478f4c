internal import ApsuleKit

/// What a run was recorded to do: calls with their answers and events, and when each came.
///
/// As a file it is JSONL: a header `{"apsule": "recording", "version": 1, "host": …, "date": …}`, then a line an entry,
/// in the order in which things happened; `t` is in milliseconds since the run's start.
///
///     {"t": 12, "call": 1, "operation": "bluetooth.scan", "arguments": {"durationMs": 5000}}
///     {"t": 14, "call": 1, "reply": {"scanId": "1"}}
///     {"t": 95, "call": 1, "event": "device", "value": {"name": "Rig Heart"}}
///     {"t": 5014, "call": 1, "end": []}
///
/// `fail` carries an error, `blobs` the binary data of a line as Base64, `redacted: true` stands for a value that is
/// secret, `cancel` notes that the caller lost interest.
public struct Recording: Sendable {
    public static let version: Int64 = 1
    /// A recording is read as a whole.
    public static let maximumBytes = 256 << 20

    /// One call, and what came of it.
    struct Call: Sendable {
        let key: CallKey
        /// In the order in which the script made its calls.
        let number: Int64
        let start: Int64
        var entries: [Entry] = []
        /// When the caller gave it up before any answer: milliseconds since the call's start.
        var givenUp: Int64?
    }

    struct Entry: Sendable {
        /// Milliseconds since the call's start.
        let after: Int64
        let what: What

        var isEvent: Bool { if case .event = what { true } else { false } }
    }

    enum What: Sendable {
        /// nil: the value is secret, and was not written down.
        case reply(Payload?)
        case event(String, Payload?)
        case end(Payload?)
        case fail(HostError)
    }

    /// In the order of their start.
    let calls: [Call]
    /// When the last thing happened.
    let duration: Int64
    /// What a person should know of the file: a torn last line.
    public let warning: String?

    /// The families whose calls it answers.
    public var families: Set<String> { Set(calls.map { String($0.key.operation.prefix { $0 != "." }) }) }
}
