internal import ApsuleKit
public import Foundation
public import HostCore

/// Programs and plugins in C that tests need, built once a run with every warning an error and undefined behaviour a
/// crash.
public enum Workshop {
    public static let repository = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// The folder of the test program: `apsule` and the plugins of this build lie beside it.
    public static let build = Installation().folder

    /// Readable by everybody: some tests run as another user.
    public static let folder: URL = {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apsule-test-programs-\(getpid())")
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        atexit { try? FileManager.default.removeItem(at: Workshop.folder) }
        return folder
    }()

    public static let launcher = program("apsule-launch", sources("Sources/launcher"))
    /// `Tests/Plugins/everything`.
    public static let everything = plugin("everything")

    /// Builds a program for this run.
    public static func program(_ name: String, _ files: [URL]) -> String { compile(name, files, []) }

    /// Builds the plugin in `Tests/Plugins/<family>`.
    public static func plugin(_ family: String) -> String {
        let source = repository.appending(path: "Tests/Plugins/\(family)").path
        let header = repository.appending(path: "Sources/Kit/Sources/CApsule/include").path
        let flags = ["-fPIC", "-shared", "-pthread", "-I", header, "-I", source]
        return compile("libapsule-\(family).so", sources("Tests/Plugins/\(family)"), flags)
    }

    private static func sources(_ path: String) -> [URL] {
        let folder = repository.appending(path: path)
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).filter { $0.pathExtension == "c" }
    }

    private static func compile(_ name: String, _ files: [URL], _ extra: [String]) -> String {
        let output = folder.appending(path: name).path
        let strict = [
            "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover",
        ]
        var environment = ChildEnvironment()
        environment["TMPDIR"] = folder.path
        let arguments = ["cc"] + strict + extra + ["-o", output] + files.map(\.path)
        let result = try? run("/usr/bin/env", arguments, environment: environment)
        precondition(result?.status == .exited(0), "\(name) cannot be built: \(result?.errors ?? "no C compiler")")
        chmod(output, 0o755)
        return output
    }

    public struct Output: Sendable {
        public var status: ProcessEnd
        public var text: String
        public var errors: String
    }

    /// Runs a program to its end.
    public static func run(
        _ program: String, _ arguments: [String], descriptors: [Int32: OwnedFile] = [:],
        environment: ChildEnvironment = ChildEnvironment(), milliseconds: Int = 120_000
    ) throws -> Output {
        let (output, outputEnd) = try OwnedFile.socketPair()
        let (errors, errorsEnd) = try OwnedFile.socketPair()
        var command = ChildCommand(program, arguments, environment: environment)
        command.descriptors = descriptors
        command.descriptors[1] = outputEnd
        command.descriptors[2] = errorsEnd
        let child = try ChildProcess.start(command)
        command.descriptors = [:]
        let text = Reading(output)
        let complaint = Reading(errors)
        // Closed here, so that the reading ends with the child.
        close(outputEnd.release())
        close(errorsEnd.release())
        guard let status = child.wait(milliseconds: milliseconds) else {
            child.kill()
            throw HostError("test.timeout", "\(program) \(arguments) still runs.")
        }
        return Output(status: status, text: text.finish(), errors: complaint.finish())
    }
}

/// Reads a socket to its end on a thread of its own.
public final class Reading: @unchecked Sendable {
    // @unchecked: `bytes` is the thread's until `done`, then the waiter's.
    private var bytes: [UInt8] = []
    private let done = DispatchSemaphore(value: 0)

    public init(_ file: OwnedFile) {
        HostCore.Thread.start(name: "reading") { [self] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(file.raw, &buffer, buffer.count)
                guard count > 0 else { break }
                bytes += buffer[..<count]
            }
            done.signal()
        }
    }

    /// Waits for the end and gives all of it.
    public func finish() -> String {
        done.wait()
        return String(decoding: bytes, as: UTF8.self)
    }
}
