public import ApsuleKit
import Dispatch
import Foundation
import Synchronization

/// A plugin in a process of its own, driven over a pipe: for what only a process can show, such as being killed.
public final class PluginProcess: Sendable {
    private let input: Pipe
    private let output: Pipe
    private let process: Process
    private let queue = DispatchQueue(label: "plugin-process")
    private let buffer = Mutex([UInt8]())

    /// Where the built products are: beside this program.
    public static var productFolder: String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    }

    /// Starts a plugin.
    ///
    /// - Parameter wrapper: a command that runs the rest of its arguments: `["unshare", "-m"]`.
    public init(_ family: String, _ project: TestProject, wrapper: [String] = []) throws {
        (input, output, process) = (Pipe(), Pipe(), Process())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = wrapper + ["\(Self.productFolder)/plugin-driver", family, project.root]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { kill() }

    public var id: Int32 { process.processIdentifier }

    /// The most memory that it has had so far, in KiB.
    public var peakMemory: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            guard let peak = line?.split(separator: " ").compactMap({ Int($0) }).first else {
                throw CocoaError(.fileReadUnknown)
            }
            return peak
        }
    }

    /// Sends a call and does not wait for its answer.
    public func send(_ operation: String, _ arguments: JSON = .object([])) throws {
        let line = (["operation": .string(operation), "arguments": arguments] as JSON).text + "\n"
        try input.fileHandleForWriting.write(contentsOf: Data(line.utf8))
    }

    /// The next answer, `{"result"}` or `{"error"}`; nil when the process has ended.
    public func next() async throws -> JSON? {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.readAnswer() }) }
        }
    }

    /// Calls an operation and waits for its answer.
    ///
    /// - Throws: the error it failed with.
    @discardableResult
    public func call(_ operation: String, _ arguments: JSON = .object([])) async throws -> JSON {
        try send(operation, arguments)
        guard let answer = try await next() else { throw HostError("test.ended", "The process has ended.") }
        if let error = answer["error"] { throw HostError(json: error, fallback: "test.bad_error") }
        return answer["result"] ?? .null
    }

    /// Ends it as `kill -9` does, and waits.
    public func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private func readAnswer() throws -> JSON? {
        while true {
            let line: [UInt8]? = buffer.withLock { buffer in
                guard let end = buffer.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
                defer { buffer.removeSubrange(...end) }
                return Array(buffer[..<end])
            }
            if let line { return try JSON(parsing: line) }
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { return nil }
            buffer.withLock { $0 += data }
        }
    }
}
