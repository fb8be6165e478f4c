import ApsuleKit
import HostCore

/// `apsule completion bash|zsh`.
enum CompletionCommand {
    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let options = try Options(arguments)
        switch try options.word(0, "bash or zsh") {
        case "bash": Output.text(CompletionScripts.bash)
        case "zsh": Output.text(CompletionScripts.zsh)
        case let other:
            throw HostError("usage.invalid", "There is no completion for \(SafeText.escape(other)): bash, zsh.")
        }
        return .ok
    }

    /// `apsule __complete -- WORD…`: what the last word may become, one a line with its meaning after a tab.
    ///
    /// `:folder` and `:file` leave it to the shell. Whatever fails gives no candidates.
    static func complete(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let words = Array(arguments.drop { $0 == "--" })
        for candidate in Completer(words).candidates {
            Output.line("\(candidate.value)\t\(SafeText.escape(candidate.meaning, limit: 100))")
        }
        return .ok
    }
}
