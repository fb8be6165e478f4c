import Foundation

// Writes JavaScript files as one function's body in a Swift constant: what each declares at top level, all see.
let part = CommandLine.arguments[2]
let files = CommandLine.arguments.dropFirst(3)
let texts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
let text = """
    extension Prelude {
        static let \(part): StaticString = ####\"""
    (function (native, shared) {
    "use strict";
    \(texts.joined(separator: "\n"))
    })
    \"""####
    }

    """
try Data(text.utf8).write(to: URL(fileURLWithPath: CommandLine.arguments[1]))
