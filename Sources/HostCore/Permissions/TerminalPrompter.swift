internal import ApsuleKit
internal import CHostCore
internal import Glibc
internal import Synchronization

/// Asks at the controlling terminal, whatever stdin and stdout are.
///
/// Only what is typed after the question counts, every answer is a word of its own, and an empty line is none.
public final class TerminalPrompter: Prompter {
    private let pauseConsole: @Sendable (Bool) -> Void
    private let turn = Mutex(())

    /// - Parameter pauseConsole: told true before and false after a question, so that nothing is printed over it.
    public init(pauseConsole: @escaping @Sendable (Bool) -> Void) { self.pauseConsole = pauseConsole }

    public func ask(_ request: PromptRequest) -> PromptAnswer? {
        put(Self.question(request)) { answer in
            switch answer {
            case "o", "once": .once
            case "r", "run": .run
            case "a", "always": .always
            case "n", "never": .never
            case nil: PromptAnswer.none
            default: nil
            }
        } again: {
            "Please type o, r, a or n: "
        }
    }

    /// Has a person confirm what a command would allow for good.
    ///
    /// nil: there is nobody to ask.
    public func confirm(_ request: PromptRequest) -> Bool? {
        put(Self.question(request, asking: "Allow it from now on, without asking again? Type yes or no: ")) { answer in
            switch answer {
            case "y", "yes": true
            case "n", "no", nil: false
            default: nil
            }
        } again: {
            "Please type yes or no: "
        }
    }

    /// Puts a question until `read` takes the answer; it gets nil at the terminal's end.
    private func put<Answer>(
        _ question: String, _ read: (String?) -> Answer?, again: () -> String
    ) -> Answer? {
        turn.withLock { _ in
            let terminal = host_openat(AT_FDCWD, "/dev/tty", O_RDWR, 0)
            // A process in the background would be stopped by reading.
            guard terminal >= 0, tcgetpgrp(terminal) == getpgrp() else {
                if terminal >= 0 { close(terminal) }
                return nil
            }
            defer { close(terminal) }
            pauseConsole(true)
            defer { pauseConsole(false) }
            // What was typed before the question cannot be an answer to it.
            tcflush(terminal, TCIFLUSH)
            show(question, terminal)
            while true {
                let line = readLine(terminal)
                if let answer = read(line?.lowercased()) { return answer }
                guard line != nil else { return nil }
                show(again(), terminal)
            }
        }
    }

    private static let choices = "Allow [o]nce, for this [r]un, [a]lways, or [n]ever? "

    static func question(_ request: PromptRequest, asking: String = choices) -> String {
        let declaration = request.declaration
        var text = "\n\(SafeText.escape(request.projectName)) wants to \(SafeText.escape(request.title)).\n"
        text += "  project  \(SafeText.escape(request.identity.id))\n"
        text += "  from     \(SafeText.escape(request.identity.place, limit: 400))\n"
        for place in request.otherPlaces.prefix(3) {
            text += "  note     another project with this id comes from \(SafeText.escape(place, limit: 400))\n"
        }
        text += "  for      \(SafeText.escape(request.operation))\n"
        if let reason = declaration.reason { text += "  reason   \(SafeText.escape(reason))\n" }
        if let level = declaration.level { text += "  level    \(SafeText.escape(level))\n" }
        for (scope, values) in declaration.scopes.sorted(by: { $0.key < $1.key }) {
            let list = values.prefix(20).map { SafeText.escape($0, limit: 60) }.joined(separator: ", ")
            let more = values.count > 20 ? ", and \(values.count - 20) more" : ""
            text += "  only     \(SafeText.escape(scope)): \(list.isEmpty ? "none" : list + more)\n"
        }
        return text + asking
    }

    private func show(_ text: String, _ terminal: Int32) { _ = FileWriter.write(Array(text.utf8), to: terminal) }

    /// One line; what is too long for any answer comes back empty.
    ///
    /// nil at the end.
    private func readLine(_ terminal: Int32) -> String? {
        var bytes: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            // A terminal that was left raw sends the other one.
            if byte == 0x0a || byte == 0x0d { break }
            if bytes.count <= Self.longestAnswer { bytes.append(byte) }
        }
        return bytes.count > Self.longestAnswer ? "" : String(decoding: bytes, as: UTF8.self).trimmingWhitespace
    }

    private static let longestAnswer = 16
}

extension String {
    var trimmingWhitespace: String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace }
        let start = drop(while: isSpace)
        guard let end = start.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(start[...end])
    }
}
