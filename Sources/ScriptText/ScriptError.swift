public import ApsuleKit

/// Why a script failed, with the place in the project's own files.
public struct ScriptError: Error, Sendable {
    /// `TypeError`, `HostError`; empty where something else than an Error was thrown.
    public var name: String
    public var message: String
    /// A HostError's code, or the runtime's own: `script.unresponsive`, `script.out_of_memory`, `script.stalled`.
    public var code: String?
    public var details: JSON
    public var file: String?
    /// From 1.
    public var line: Int?
    /// From 1, in UTF-16 units.
    public var column: Int?
    public var frames: [StackFrame]
    /// The lines around the place, with a mark under it.
    public var codeFrame: String?
    /// The script cannot be stopped any more: only the end of the process ends it.
    public var isStuck = false
    /// Bytes of a message, a stack or details that are told; whatever a script throws can be shown.
    private static let longest = 1 << 18

    package init(
        name: String = "", message: String, code: String? = nil, details: JSON = .object([]), frames: [StackFrame] = []
    ) {
        (self.name, self.message, self.code, self.details, self.frames) = (name, message, code, details, frames)
        (file, line, column) = (frames.first?.file, frames.first?.line, frames.first?.column)
    }

    /// One line: what a program logs.
    public var summary: String {
        let place = file.map { file in line.map { "\(file):\($0)" + (column.map { ":\($0)" } ?? "") } ?? file }
        return [place, [name, message].filter { !$0.isEmpty }.joined(separator: ": ")].compactMap(\.self)
            .joined(separator: ": ") + (code.map { " (\($0))" } ?? "")
    }

    /// The stack, a line a frame.
    public var stack: String { frames.map { "    at \($0)" }.joined(separator: "\n") }

    /// `{"name", "message", "code", "details", "file", "line", "column", "stack", "codeFrame"}`, without what is absent.
    public var json: JSON {
        var json: JSON = ["message": .string(message.bounded(Self.longest))]
        if !name.isEmpty { json.set("name", .string(name.bounded(200))) }
        json.set("code", code.map { .string($0.bounded(200)) })
        if details.members?.isEmpty == false {
            let size = details.bytes.count
            json.set("details", size <= Self.longest ? details : ["tooLong": .int(Int64(size))])
        }
        json.set("file", file.map(JSON.string))
        json.set("line", line.map { .int(Int64($0)) })
        json.set("column", column.map { .int(Int64($0)) })
        if !frames.isEmpty { json.set("stack", .string(stack.bounded(Self.longest))) }
        json.set("codeFrame", codeFrame.map(JSON.string))
        return json
    }

    package static func unresponsive(_ limit: Int, isStuck: Bool) -> ScriptError {
        var error = ScriptError(
            message: "The script did not give up control for \(limit) ms (limits.turnMs).", code: "script.unresponsive",
            details: ["limitMs": .int(Int64(limit))])
        error.isStuck = isStuck
        return error
    }

    package static func outOfMemory(_ limit: Int, isStuck: Bool) -> ScriptError {
        var error = ScriptError(
            message: "The script used more than \(limit) MB of memory (limits.memoryMB).", code: "script.out_of_memory",
            details: ["limitMB": .int(Int64(limit))])
        error.isStuck = isStuck
        return error
    }

    package static func stalled(_ file: String) -> ScriptError {
        var error = ScriptError(
            message: "\(file) awaits something that can no longer happen: no call, stream or timer is left.",
            code: "script.stalled")
        error.file = file
        return error
    }
}

/// One call on a script's stack.
public struct StackFrame: Sendable, Hashable, CustomStringConvertible {
    /// Empty at top level and in unnamed functions.
    public var function: String
    public var file: String
    /// From 1; nil where the engine knows no position.
    public var line: Int?
    public var column: Int?

    package init(function: String, file: String, line: Int?, column: Int?) {
        (self.function, self.file, self.line, self.column) = (function, file, line, column)
    }

    public var description: String {
        let place = file + (line.map { ":\($0)" } ?? "") + (column.map { ":\($0)" } ?? "")
        return function.isEmpty ? place : "\(function) (\(place))"
    }
}
