internal import ApsuleKit
internal import ScriptText

/// The texts that run, to show a place in them and to undo what wrapping and bundling did to positions.
struct ScriptSources {
    private struct Source {
        var text: String
        /// Characters before the file's own on its first line.
        var indent: Int
        var map: SourceMap?
    }

    private var sources: [String: Source] = [:]
    private(set) var mainPath = "main.js"

    mutating func add(_ path: String, text: String, indent: Int, map: SourceMap? = nil, isMain: Bool = false) {
        sources[path] = Source(text: text, indent: indent, map: map)
        if isMain { mainPath = path }
    }

    /// Reads the engine's stack text: `name@file:line:column`, a line a frame.
    func frames(_ stack: String) -> [StackFrame] {
        stack.split(separator: "\n").compactMap { line in
            // A backtrace numbers its frames: `#0 name() at file:line:column`.
            guard !line.hasSuffix("[native code]") else { return nil }
            let separator = line.firstRange(of: line.hasPrefix("#") ? " at " : "@")
            var function = String(separator.map { line[..<$0.lowerBound] } ?? "")
            if function.hasPrefix("#"), let space = function.firstIndex(of: " ") {
                function = String(function[function.index(after: space)...].prefix { $0 != "(" })
            }
            if function.hasSuffix(" code") { function = "" }
            let place = separator.map { line[$0.upperBound...] } ?? line[...]
            guard !place.hasPrefix("apsule:"), !place.hasPrefix(":") else { return nil }
            let parts = place.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count >= 2 else { return nil }
            if parts.count >= 3, let row = Int(parts[parts.count - 2]), let column = Int(parts[parts.count - 1]) {
                return original(function, parts.dropLast(2).joined(separator: ":"), row, column)
            }
            guard let row = Int(parts[parts.count - 1]) else { return nil }
            return original(function, parts.dropLast().joined(separator: ":"), row, nil)
        }
    }

    /// Where a position of the running text is in the project's files.
    func original(_ function: String, _ file: String, _ line: Int, _ column: Int?) -> StackFrame {
        guard let source = sources[file] else {
            return StackFrame(function: function, file: file, line: line, column: column)
        }
        let column = column.map { line == 1 ? max(1, $0 - source.indent) : $0 }
        if let place = source.map?.original(line: line, column: column ?? 1) {
            return StackFrame(function: function, file: place.file, line: place.line, column: place.column)
        }
        // The closing line of the wrapper is the end of the file.
        let last = source.text.utf8.count { $0 == UInt8(ascii: "\n") } + 1
        return StackFrame(function: function, file: file, line: min(line, last), column: column)
    }

    /// The lines around a place.
    func codeFrame(_ frame: StackFrame) -> String? {
        guard let line = frame.line else { return nil }
        let mapped = sources.values.lazy.compactMap { $0.map?.content(of: frame.file) }.first
        guard let text = mapped ?? sources[frame.file]?.text else { return nil }
        return CodeFrame.text(text, line: line, column: frame.column)
    }

    /// The error with its place: the first frame in the project's files.
    func located(_ error: ScriptError) -> ScriptError {
        var error = error
        guard let frame = error.frames.first else { return error }
        (error.file, error.line, error.column) = (frame.file, frame.line, frame.column)
        error.codeFrame = codeFrame(frame)
        return error
    }
}
