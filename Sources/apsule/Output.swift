import ApsuleKit
import Glibc
import HostCore
import Synchronization

/// What the command line prints: plain lines, colours on a terminal only, JSON where asked for.
enum Output {
    static let isTerminal = isatty(1) == 1
    static let hasColour = isColoured(1)
    static let errorsHaveColour = isColoured(2)
    /// Whether the cursor can be moved: a terminal that is more than paper.
    static let isLive = isLive(1)
    static func isLive(_ file: Int32) -> Bool {
        isatty(file) == 1 && variable("TERM") != "dumb" && variable("TERM") != nil
    }

    /// Whether the locale writes UTF-8.
    static let isUnicode = {
        let locale = variable("LC_ALL") ?? variable("LC_CTYPE") ?? variable("LANG") ?? ""
        return locale.uppercased().replacing("-", with: "").contains("UTF8")
    }()

    /// What the user asks for by variables, or a terminal.
    ///
    /// Sources: <https://no-color.org>, <https://bixense.com/clicolors/>
    private static func isColoured(_ file: Int32) -> Bool {
        if variable("NO_COLOR") != nil { return false }
        if let force = variable("CLICOLOR_FORCE"), force != "0" { return true }
        return isatty(file) == 1 && variable("TERM") != "dumb" && variable("CLICOLOR") != "0"
    }

    /// nil where it is missing or empty.
    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Columns of the terminal; nil where there is none.
    static var width: Int? { size?.columns }

    static var size: (columns: Int, rows: Int)? { size(1) }

    static func size(_ file: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(file, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    static func line(_ text: String) { write(1, text + "\n") }
    static func text(_ text: String) { write(1, text) }
    static func error(_ text: String) { write(2, text + "\n") }

    static func write(_ file: Int32, _ text: String) {
        let bytes = Array(text.utf8)
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(file, $0.baseAddress.map { $0 + done }, bytes.count - done)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // Somebody made it non-blocking: wait for the reader.
                var polled = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
                poll(&polled, 1, -1)
                continue
            }
            if count <= 0 { return lost(file, errno) }
            done += count
        }
    }

    /// What became of standard output.
    private struct Loss {
        var code: Int32 = 0
        var isReaderGone = false
        var handler: (@Sendable () -> Void)?
    }

    private static let loss = Mutex(Loss())

    /// Whoever read the standard output has closed it, as `head` does when it has seen enough.
    static var isReaderGone: Bool { loss.withLock { $0.isReaderGone } }
    /// Why standard output could not be written, where that is worth an error: a full disk, say.
    static var failureCode: Int32 { loss.withLock { $0.code } }

    /// Calls `handler` once nobody reads any more, for what would print for ever.
    static func onReaderGone(_ handler: @escaping @Sendable () -> Void) {
        let isGone = loss.withLock { loss in
            loss.handler = handler
            return loss.isReaderGone
        }
        if isGone { handler() }
    }

    private static func lost(_ file: Int32, _ code: Int32) {
        // An output that was never open is nobody's wish to read it; errors that cannot be told are not told.
        guard file == 1, code != EBADF else { return }
        let handler = loss.withLock { loss -> (@Sendable () -> Void)? in
            if code != EPIPE {
                loss.code = code
                return nil
            }
            defer { (loss.isReaderGone, loss.handler) = (true, nil) }
            return loss.handler
        }
        handler?()
    }

    /// Opens what is missing of standard input, output and error as /dev/null, for reading only: else the next file that
    /// is opened, a database for one, would be what lines are printed to.
    static func prepare() {
        for file: Int32 in 0...2 where fcntl(file, F_GETFD) < 0 { _ = open("/dev/null", O_RDONLY) }
    }

    static func pause(milliseconds: UInt32) { usleep(milliseconds * 1_000) }

    /// JSON for a terminal, in which nothing but line ends controls it: the rest is written as `\u` escapes.
    static func shown(_ json: String) -> String {
        json.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.unicodeScalars.map { scalar -> String in
                let text = String(scalar)
                if scalar.isASCII, scalar.value >= 0x20, scalar.value != 0x7f { return text }
                guard SafeText.escape(text) != text else { return text }
                return text.utf16.map { unit in
                    let digits = String(unit, radix: 16)
                    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }.joined()
            }.joined()
        }.joined(separator: "\n")
    }

    static func bold(_ text: String) -> String { hasColour ? "\u{1b}[1m\(text)\u{1b}[0m" : text }
    static func dim(_ text: String) -> String { hasColour ? "\u{1b}[2m\(text)\u{1b}[0m" : text }
    static func colour(_ text: String, _ code: Int) -> String { hasColour ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text }

    /// Names and what they are, in two columns.
    static func table(_ rows: [(name: String, text: String)]) {
        let width = min(rows.map(\.name.count).max() ?? 0, 32)
        for row in rows {
            line("  \(bold(row.name))\(String(repeating: " ", count: max(0, width - row.name.count)))  \(row.text)")
        }
    }

    /// What a person should know, and what ends nothing.
    static func warning(_ text: String, json: Bool) {
        error(json ? JSON.object([.init("warning", .string(text))]).text : text)
    }

    /// An error for a person: code, message, reason and fix; one JSON line where asked for.
    static func failure(_ error: HostError, json: Bool) {
        if json { return self.error(JSON.object([.init("error", error.json)]).text) }
        let code = errorsHaveColour ? "\u{1b}[31m\(error.code)\u{1b}[0m" : error.code
        self.error("\(code): \(SafeText.escape(error.message, limit: 2_000))")
        if let reason = error.details["reason"]?.stringValue, !error.message.contains(reason) {
            self.error("  why: \(SafeText.escape(reason, limit: 2_000))")
        }
        if let fix = error.details["fix"]?.stringValue { self.error("  fix: \(SafeText.escape(fix, limit: 2_000))") }
    }
}

/// The exit codes of `apsule`.
enum ExitCode: Int32 {
    case ok = 0
    case failed = 1
    case usage = 2
    case permission = 3
    case unavailable = 4
    case conflict = 5
    case validation = 6
    case timeout = 124
    case interrupted = 130
    /// Whoever read the output has gone, as after SIGPIPE.
    case outputClosed = 141

    init(_ error: HostError) {
        let family = error.code.prefix { $0 != "." }
        let reason = error.code.drop { $0 != "." }.dropFirst()
        self =
            switch (family, reason) {
            case ("usage", _), ("host", "operation_unknown"), ("permissions", "unknown"): .usage
            case ("permission", _): .permission
            case ("script", "bundler_missing"): .unavailable
            case ("script", _): .failed
            case ("host", "timeout"): .timeout
            case ("host", "cancelled"): .interrupted
            case ("project", "exists"): .conflict
            case ("host", "invalid_argument"), ("host", "payload_too_large"), ("host", "payload_too_deep"): .validation
            case ("manifest", _), ("descriptor", _): .validation
            case (_, "unavailable"), (_, "unsupported"), ("plugin", _): .unavailable
            default: error.details["reason"] != nil && error.details["fix"] != nil ? .unavailable : .failed
            }
    }
}

enum Suggestions {
    static func option(_ name: String, _ known: Set<String>) -> String {
        Suggestion.nearest(to: name, among: known).map { " Did you mean --\($0)?" } ?? ""
    }
}
