internal import ApsuleKit

/// What a person is asked.
public struct PromptRequest: Sendable {
    public let projectName: String
    public let identity: ProjectIdentity
    public let permission: String
    public let title: String
    public let operation: String
    public let declaration: Declaration
    /// Where other projects with the same id come from.
    public var otherPlaces: [String] = []
}

/// What a person said.
public enum PromptAnswer: String, Sendable {
    case once, run, always, never
    /// No answer: the terminal was closed, or the prompt was ended.
    case none
}

/// Asks a person: at the terminal, in a dialog, or in a test.
public protocol Prompter: AnyObject, Sendable {
    /// Blocks until there is an answer. nil: there is nobody to ask.
    func ask(_ request: PromptRequest) -> PromptAnswer?
}

/// Asks nobody.
public final class NoPrompter: Prompter {
    public init() {}
    public func ask(_ request: PromptRequest) -> PromptAnswer? { nil }
}

/// Makes text from a project safe to show: no control characters, no bidirectional overrides, bounded.
public enum SafeText {
    public static func escape(_ text: String, limit: Int = 200) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(limit) {
            let isUnsafe =
                switch scalar.properties.generalCategory {
                case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
                default: false
                }
            if isUnsafe {
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return text.unicodeScalars.count > limit ? result + "…" : result
    }
}
