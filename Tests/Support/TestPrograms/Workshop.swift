import ApsuleKit
import Foundation
import HostCore
import Testing

/// Programs in C that the tests need, built once a run with every warning an error and undefined behaviour a crash.
enum Workshop {
    static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let repository = sources.deletingLastPathComponent().deletingLastPathComponent()

    /// Readable by everybody: some tests run as another user.
    static let folder: URL = {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apsule-process-\(getpid())")
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        atexit { try? FileManager.default.removeItem(at: Workshop.folder) }
        return folder
    }()

    static let launcher = build(
        "apsule-launch",
        try? FileManager.default.contentsOfDirectory(
            at: repository.appending(path: "Sources/launcher"), includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "c" })
    static let probe = build("probe", [sources.appending(path: "Programs/probe.c")])
    static let without = build("without", [sources.appending(path: "Programs/without.c")])

    private static func build(_ name: String, _ files: [URL]?) -> String {
        let output = folder.appending(path: name).path
        let flags = [
            "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover",
        ]
        let result = try? run(
            "/usr/bin/env", ["cc"] + flags + ["-o", output] + (files ?? []).map(\.path), inherit: true)
        precondition(result?.status == .exited(0), "\(name) cannot be built: \(result?.errors ?? "no C compiler")")
        chmod(output, 0o755)
        return output
    }

    struct Output {
        var status: ProcessEnd
        var text: String
        var errors: String

        /// What the line that begins with these words says behind its colon.
        subscript(words: String) -> String? {
            text.split(separator: "\n").first { $0.hasPrefix(words + ": ") }.map {
                String($0.dropFirst(words.count + 2))
            }
        }

        /// The indented lines.
        var details: [String] {
            text.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// Runs a program to its end.
    static func run(
        _ program: String, _ arguments: [String], inherit: Bool = false, descriptors: [Int32: OwnedFile] = [:],
        environment: ChildEnvironment = ChildEnvironment(), milliseconds: Int = 60_000
    ) throws -> Output {
        let (output, outputEnd) = try OwnedFile.socketPair()
        let (errors, errorsEnd) = try OwnedFile.socketPair()
        var environment = environment
        if inherit { environment["TMPDIR"] = folder.path }
        var command = ChildCommand(program, arguments, environment: environment)
        command.descriptors = descriptors
        command.descriptors[1] = outputEnd
        command.descriptors[2] = errorsEnd
        let child = try ChildProcess.start(command)
        command.descriptors = [:]
        // The child's ends are closed here by their last reference, so that the reading ends with the child.
        let text = Reading(output)
        let complaint = Reading(errors)
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
final class Reading: @unchecked Sendable {
    // @unchecked: `bytes` is the thread's until `done`, then the waiter's.
    private var bytes: [UInt8] = []
    private let done = DispatchSemaphore(value: 0)

    init(_ file: OwnedFile) {
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

    func finish() -> String {
        done.wait()
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// What a confined program needs to start at all, sanitizer included.
let systemRules = ["--ro", "/usr", "--ro", "/lib", "--ro", "/lib64", "--ro", "/etc/ld.so.cache", "--dev", "/dev/null"]

let isRoot = geteuid() == 0

/// Runs a program as somebody without privileges; only root can.
func runUnprivileged(_ program: String, _ arguments: [String]) throws -> Workshop.Output {
    try Workshop.run(
        "/usr/bin/setpriv",
        ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", program] + arguments)
}
