import Foundation

// Writes JavaScript files as one function's body in a Swift constant: what each declares at top level, all see.
let files = CommandLine.arguments.dropFirst(2)
let parts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
let text = """
    enum Prelude {
        static let main: StaticString = ####\"""
    (function (native, shared) {
    "use strict";
    \(parts.joined(separator: "\n"))
    })
    \"""####
    }

    """
try Data(text.utf8).write(to: URL(fileURLWithPath: CommandLine.arguments[1]))
