public import ApsuleKit

/// How one script and what it imports become one file: the command for Debian's esbuild, and what its output means.
///
/// Whoever may start processes runs `executable` with `arguments` in `folder` of the project and `input` as its
/// standard input.
///
/// Source: <https://esbuild.github.io/api/>
public struct ScriptBundle: Sendable {
    public static let executable = "/usr/bin/esbuild"

    /// Relative to the project's folder.
    public let path: String
    public let source: String

    public init(path: String, source: String) { (self.path, self.source) = (path, source) }

    /// Whether a script must be bundled: TypeScript, or a module.
    public static func isNeeded(path: String, source: String) -> Bool {
        ModuleSyntax.isNeeded(path: path, source: source)
    }

    /// What to say where esbuild is not installed.
    public var missing: HostError {
        HostError(
            "script.bundler_missing",
            "\(path) is TypeScript or uses import; that needs esbuild, which is not installed.",
            details: ["file": .string(path), "package": "esbuild", "fix": "apt-get install esbuild"])
    }

    /// The folder to run in, relative to the project's: imports are found from there.
    ///
    /// Empty for the project's own.
    public var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }

    /// Iife and cjs would refuse `await` at top level.
    public var arguments: [String] {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? "js"
        let loader = ["mts": "ts", "cts": "ts", "mjs": "js", "cjs": "js"][ending] ?? ending
        return [
            "--bundle", "--format=esm", "--platform=neutral", "--main-fields=module,main", "--target=esnext",
            "--charset=utf8",
            "--sourcemap=inline", "--sourcefile=\(name)", "--loader=\(loader)", "--define:import.meta=$$meta",
            "--log-level=error", "--log-limit=5", "--color=false",
        ]
    }

    /// The script itself, which hands its `state` and `actions` over: esbuild renames what is at top level, and drops
    /// what nothing uses.
    public var input: [UInt8] { Array((Wrapper.capture + Wrapper.withoutShebang(source)).utf8) }

    /// The script to run.
    ///
    /// - Throws: `script.invalid_source_map` for what is not esbuild's output.
    public func script(_ output: [UInt8]) throws(HostError) -> Script {
        let text = String(decoding: output, as: UTF8.self)
        let marker = "//# sourceMappingURL=data:application/json;base64,"
        guard let comment = text.ranges(of: marker).last,
            let json = Base64.decode(String(text[comment.upperBound...].prefix { !$0.isWhitespace })),
            let map = try? JSON(parsing: json)
        else { throw HostError("script.invalid_source_map", "esbuild gave no source map.") }
        let (body, exports) = Self.split(String(text[..<comment.lowerBound]))
        let folder = folder
        var sourceMap = try SourceMap(map) { Self.joined(folder, $0) }
        sourceMap.replace(path, content: source, indent: Wrapper.capture.utf16.count)
        var script = Script(path: path, text: body, sourceMap: sourceMap)
        script.exports = exports
        return script
    }

    /// Takes the export clause off, which a function cannot have, and gives it as getters.
    private static func split(_ text: String) -> (body: String, exports: String) {
        guard let start = text.ranges(of: "export {").last,
            start.lowerBound == text.startIndex || text[text.index(before: start.lowerBound)] == "\n",
            let end = text[start.upperBound...].firstIndex(of: "}"),
            text[text.index(after: end)...].allSatisfy({ $0 == ";" || $0.isWhitespace })
        else { return (text, "") }
        let getters = text[start.upperBound..<end].split(separator: ",").compactMap { item -> String? in
            let words = item.split { $0.isWhitespace }
            guard let local = words.first, let name = words.last else { return nil }
            let quoted = name.hasPrefix("\"") ? String(name) : JSON.string(String(name)).text
            return "get [\(quoted)]() { return \(local) }"
        }
        return (String(text[..<start.lowerBound]), "$$apsule(null, { \(getters.joined(separator: ", ")) });")
    }

    /// Why esbuild refused, from what it wrote to its standard error.
    ///
    /// - Parameter readFile: a file of the project, for the lines around the place.
    public func failure(_ stderr: [UInt8], readFile: (String) -> String? = { _ in nil }) -> ScriptError {
        let lines = String(decoding: stderr, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.firstIndex(where: { $0.contains("[ERROR] ") }),
            let mark = lines[first].firstRange(of: "[ERROR] ")
        else {
            return ScriptError(message: "esbuild failed: \(lines.first ?? "no message")", code: "script.bundle_failed")
        }
        var error = ScriptError(message: String(lines[first][mark.upperBound...]), code: "script.bundle_failed")
        let place = lines[first...].dropFirst().prefix(3).lazy.compactMap { Self.place($0) }.first
        guard let place else { return error }
        let file = Self.joined(folder, place.file)
        let indent = file == path && place.line == 1 ? Wrapper.capture.utf8.count : 0
        let frame = StackFrame(function: "", file: file, line: place.line, column: max(0, place.column - indent) + 1)
        error.frames = [frame]
        (error.file, error.line, error.column) = (frame.file, frame.line, frame.column)
        let text = file == path ? source : readFile(file)
        error.codeFrame = text.flatMap { CodeFrame.text($0, line: place.line, column: frame.column) }
        return error
    }

    /// `    file:line:column:`, the column in bytes from 0.
    private static func place(_ line: Substring) -> (file: String, line: Int, column: Int)? {
        let parts = line.drop { $0 == " " }.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts.last == "", let row = Int(parts[parts.count - 3]),
            let column = Int(parts[parts.count - 2])
        else { return nil }
        return (parts.dropLast(3).joined(separator: ":"), row, column)
    }

    /// A path relative to `folder` as one relative to the project.
    static func joined(_ folder: String, _ path: String) -> String {
        var parts = folder.split(separator: "/")
        for part in path.split(separator: "/") {
            switch part {
            case ".": continue
            case ".." where !parts.isEmpty && parts.last != "..": parts.removeLast()
            default: parts.append(part)
            }
        }
        return parts.joined(separator: "/")
    }
}
