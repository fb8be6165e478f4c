import ApsuleKit
import HostCore
import Synchronization

/// What a running project prints: stdout for log and info, stderr for warnings and errors; held back during a question.
final class RunConsole: ConsoleSink {
    private let json: Bool
    private let state = Mutex((paused: false, held: [(isError: Bool, line: String)](), lost: 0))

    init(json: Bool) { self.json = json }

    func write(_ level: LogLevel, source: String, _ text: String) {
        if level == .debug, source != "script", Installation.processEnvironment()["APSULE_DEBUG"] == nil { return }
        let isError = level == .warning || level == .error
        let line: String
        if json {
            line =
                JSON.object([
                    .init("type", "console"), .init("level", .string("\(level)")), .init("source", .string(source)),
                    .init("text", .string(text)),
                ]).text
        } else {
            line = source == "script" ? text : "\(source): \(SafeText.escape(text, limit: 20_000))"
        }
        print(isError && !json, line)
    }

    /// The script's end by an error, with its place and a code frame.
    func failure(_ error: JSON) {
        if json { return print(false, JSON.object([.init("type", "error"), .init("error", error)]).text) }
        var text = error["code"]?.stringValue.map { "\($0): " } ?? ""
        text += error["message"]?.stringValue ?? "the script failed"
        if let file = error["file"]?.stringValue {
            let place = [error["line"]?.intValue, error["column"]?.intValue].compactMap { $0.map { ":\($0)" } }
            text += "\n  at \(file)\(place.joined())"
        }
        if let frame = error["codeFrame"]?.stringValue { text += "\n\n\(frame)" }
        for key in ["reason", "fix"] {
            if let value = error["details"]?[key]?.stringValue {
                text += "\n  \(key == "fix" ? "fix" : "why"): \(value)"
            }
        }
        print(true, text)
    }

    func pause(_ paused: Bool) {
        // Printed under the lock: no line may come over the question, nor before one that was held back.
        state.withLock { state in
            state.paused = paused
            guard !paused else { return }
            for (isError, line) in state.held { emit(isError, line) }
            if state.lost > 0 { emit(true, "\(state.lost) lines were not kept while you were asked.") }
            (state.held, state.lost) = ([], 0)
        }
    }

    private func print(_ isError: Bool, _ line: String) {
        state.withLock { state in
            guard state.paused else { return emit(isError, line) }
            // Bounded: a project that floods its console while a person thinks loses the rest.
            if state.held.count < 10_000 { state.held.append((isError, line)) } else { state.lost += 1 }
        }
    }

    private func emit(_ isError: Bool, _ line: String) { isError ? Output.error(line) : Output.line(line) }
}
