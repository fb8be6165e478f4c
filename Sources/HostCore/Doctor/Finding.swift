public import ApsuleKit

/// One thing that the doctor looked at, and how it is.
public struct Finding: Sendable {
    public enum State: String, Sendable {
        case fine, warning, problem
    }

    /// `installation`, `sandbox`, `permissions`, `tools`, `environment` or `families`.
    public let topic: String
    public let name: String
    public let state: State
    public let text: String
    public var reason: String?
    public var fix: String?
    /// An error code, where there is one.
    public var code: String?

    init(_ topic: String, _ name: String, _ state: State, _ text: String, reason: String? = nil, fix: String? = nil) {
        (self.topic, self.name, self.state, self.text) = (topic, name, state, text)
        (self.reason, self.fix) = (reason, fix)
    }

    public init(_ topic: String, _ name: String, _ error: HostError, _ state: State = .problem) {
        let reason = error.details["reason"]?.stringValue
        self.init(
            topic, name, state, error.message, reason: reason.flatMap { error.message.contains($0) ? nil : $0 },
            fix: error.details["fix"]?.stringValue)
        code = error.code
    }

    public var json: JSON {
        var json: JSON = [
            "topic": .string(topic), "name": .string(name), "state": .string(state.rawValue), "text": .string(text),
        ]
        json.set("code", code.map { .string($0) })
        json.set("reason", reason.map { .string($0) })
        json.set("fix", fix.map { .string($0) })
        return json
    }
}
