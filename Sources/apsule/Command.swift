import ApsuleKit
import HostCore

/// One command of `apsule`: what the table says of it is what help, completion and the man page tell.
struct Command: Sendable {
    let name: String
    let usage: String
    let summary: String
    var options: [Option] = []
    /// What its words are, for completion; the last one repeats.
    var words: [Word] = []
    let run: @Sendable (ArraySlice<String>) throws(HostError) -> ExitCode

    struct Option: Sendable {
        let name: String
        /// What its value is called; nil for a flag.
        let value: String?
        let summary: String

        init(_ name: String, value: String? = nil, _ summary: String) {
            (self.name, self.value, self.summary) = (name, value, summary)
        }
    }

    /// What a word may be.
    indirect enum Word: Sendable {
        case folder, file, operation, argument, permission, project, query, family
        /// A command, family, operation or error code.
        case topic
        /// A family or an operation.
        case page
        /// One of several words, and what follows each.
        case verbs([(name: String, words: [Word])])
    }

    /// The options that every command has.
    static let shared: [Option] = [
        Option("json", "Prints JSON, one value a line."),
        Option("state", value: "DIR", "Keeps grants, audit and data in DIR instead of the user's folders."),
        Option("plugins", value: "DIR", "Looks for further plugins in DIR; may be repeated."),
        Option("help", "Shows this help."),
    ]

    var allOptions: [Option] { options + Self.shared }
}

extension Options {
    init(_ arguments: some Sequence<String>, _ known: [Command.Option] = []) throws(HostError) {
        try self.init(
            arguments, taking: Set(known.filter { $0.value != nil }.map(\.name)),
            flags: Set(known.filter { $0.value == nil }.map(\.name)))
    }
}
