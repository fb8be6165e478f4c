import ApsuleKit
import Foundation
import Testing

/// The built `apsule`, with folders of its own.
final class ApsuleTool: Sendable {
    let home: URL
    private let binary: URL

    /// - Parameter binary: another installation's.
    init(binary: URL = ApsuleTool.binary) throws {
        self.binary = binary
        try Self.installed.get()
        home = FileManager.default.temporaryDirectory.appending(path: "apsule-cli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: home) }

    struct Output {
        let status: Int32
        let out: String
        let err: String

        var json: JSON? { try? JSON(parsing: out.trimmingCharacters(in: .whitespacesAndNewlines)) }
        var lines: [String] { out.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
        /// The error that `--json` printed.
        var error: JSON? {
            err.split(separator: "\n").last.flatMap { try? JSON(parsing: String($0)) }.flatMap { $0["error"] }
        }
    }

    /// Runs it to its end in the home folder.
    func run(_ arguments: String..., environment: [String: String] = [:], folder: String = "") throws -> Output {
        try run(arguments, environment: environment, folder: folder)
    }

    func run(_ arguments: [String], environment: [String: String] = [:], folder: String = "") throws -> Output {
        let process = Process()
        process.executableURL = binary
        process.arguments = arguments
        process.environment = self.environment.merging(environment) { $1 }
        process.currentDirectoryURL = folder.isEmpty ? home : home.appending(path: folder)
        // Files rather than pipes: they never fill up.
        let (out, err) = (try scratch(), try scratch())
        (process.standardOutput, process.standardError) = (out.handle, err.handle)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return Output(status: process.terminationStatus, out: try out.text(), err: try err.text())
    }

    private struct Scratch {
        let url: URL
        let handle: FileHandle

        func text() throws -> String {
            try handle.close()
            defer { try? FileManager.default.removeItem(at: url) }
            return String(decoding: try Data(contentsOf: url), as: UTF8.self)
        }
    }

    private func scratch() throws -> Scratch {
        let url = FileManager.default.temporaryDirectory.appending(path: "apsule-cli-\(UUID().uuidString).out")
        try Data().write(to: url)
        return Scratch(url: url, handle: try FileHandle(forWritingTo: url))
    }

    /// Nothing of the person who runs the tests.
    var environment: [String: String] {
        [
            "HOME": home.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "XDG_STATE_HOME": home.path + "/state",
            "XDG_DATA_HOME": home.path + "/data", "XDG_CONFIG_HOME": home.path + "/config",
        ]
    }

    func write(_ path: String, _ text: String) throws {
        let file = home.appending(path: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    func read(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: home.appending(path: path)), as: UTF8.self)
    }

    // MARK: - The build that is tested

    static let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    static let binary = build.appending(path: "apsule")
    static let checkout = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The manifests lie beside the binary, as in an installation.
    private static let installed = Result {
        let target = build.appending(path: "Manifests")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        for file in try manifests() {
            let copy = target.appending(path: file.lastPathComponent)
            let bytes = try Data(contentsOf: file)
            if (try? Data(contentsOf: copy)) != bytes { try bytes.write(to: copy, options: .atomic) }
        }
    }

    /// What tests compile or run.
    static let samples = checkout.appending(path: "Tests/CommandLineTests/Samples")

    static func manifests() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: checkout.appending(path: "Manifests"), includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
    }
}
