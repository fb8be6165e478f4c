/// How a file's text becomes a function: on its first line, so that line numbers stay as they are.
package struct Wrapper {
    package let text: String
    /// Characters before the file's own on the first line.
    package let indent: Int

    private static let parameters = "exports, require, module, __filename, __dirname"
    /// `state` and `actions` as they are when asked for, however the script declares them.
    static let capture =
        "$$apsule(name => name === \"state\" ? typeof state === \"undefined\" ? undefined : state"
        + " : typeof actions === \"undefined\" ? undefined : actions);"

    /// The project's main script, which may await at top level.
    package static func main(_ script: Script) -> Wrapper {
        let isBundle = script.sourceMap != nil
        let directive = isBundle || startsStrict(script.text) ? "\"use strict\";" : ""
        let start = isBundle ? script.exports : capture
        return Wrapper("(async (\(parameters), $$apsule, $$meta) => {\(directive){\(start)", script.text)
    }

    /// A file that is required.
    package static func module(_ source: String) -> Wrapper {
        Wrapper("(function (\(parameters)) {{", source)
    }

    /// The prefix opens a block of its own, so that a script may call its own things `module` or `exports`.
    private init(_ prefix: String, _ source: String) {
        indent = prefix.utf16.count
        text = "\(prefix)\(Self.withoutShebang(source))\n}})"
    }

    /// The first line of a program that can be run by itself is no JavaScript: it becomes a comment.
    static func withoutShebang(_ source: String) -> String {
        source.hasPrefix("#!") ? "//" + source.dropFirst(2) : source
    }

    /// Whether the text begins with `"use strict"`, which what is put before it would undo.
    private static func startsStrict(_ source: String) -> Bool {
        var rest = source[...]
        while true {
            rest = rest.drop { $0.isWhitespace || $0 == ";" }
            if rest.hasPrefix("//") || rest.hasPrefix("#!") {
                rest = rest.drop { !$0.isNewline }
            } else if rest.hasPrefix("/*") {
                guard let end = rest.firstRange(of: "*/") else { return false }
                rest = rest[end.upperBound...]
            } else if rest.hasPrefix("\"use strict\"") || rest.hasPrefix("'use strict'") {
                return true
            } else {
                return false
            }
        }
    }
}
