/// The one error a family throws; it reaches a caller as `{code, message, details}`.
public struct HostError: Error, Sendable, Hashable {
    /// `<family>.<snake_case>`, for example `bluetooth.adapter_off`.
    public var code: String
    /// One sentence for a person.
    public var message: String
    /// A JSON object with what a program needs: `path`, `reason`, `fix`.
    public var details: JSON

    public init(_ code: String, _ message: String, details: JSON = .object([])) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// `{"code", "message", "details"}`.
    public var json: JSON {
        .object([.init("code", .string(code)), .init("message", .string(message)), .init("details", details)])
    }

    /// Reads `{"code", "message", "details"}`; what is missing or of another type becomes `fallback`.
    public init(json: JSON, fallback: String) {
        code = json["code"]?.stringValue ?? fallback
        message = json["message"]?.stringValue ?? "no message"
        details = json["details"].flatMap { $0.members == nil ? nil : $0 } ?? .object([])
    }
}

extension HostError {
    /// An argument that does not fit: `path` names it, as in `filter.services[0]`.
    public static func invalidArgument(_ path: String, expected: String, got: String) -> HostError {
        HostError(
            "host.invalid_argument", "\(path.isEmpty ? "arguments" : path): expected \(expected), got \(got)",
            details: ["path": .string(path), "expected": .string(expected), "got": .string(got)])
    }

    /// Something that cannot work on this machine now, with why and what a person can do.
    public static func unavailable(_ family: String, _ reason: String, fix: String) -> HostError {
        HostError("\(family).unavailable", reason, details: ["reason": .string(reason), "fix": .string(fix)])
    }

    /// What nobody waits for any more.
    public static let cancelled = HostError("host.cancelled", "The call was cancelled.")
}
