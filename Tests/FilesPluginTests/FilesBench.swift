import ApsuleKit
import FilesPlugin
import Foundation
import TestHost
import Testing

/// A project with the family on it, and what its tests look at.
final class FilesBench: Sendable {
    let project: TestProject
    let host: TestHost
    var root: String { project.files }

    init() throws {
        project = try TestProject()
        host = try TestHost("files", FilesPlugin.entry, project: project)
    }

    @discardableResult
    func call(_ operation: String, _ arguments: JSON = .object([])) async throws -> JSON {
        try await host.call(operation, arguments)
    }

    /// The code without the family, nil where it does not fail.
    func refusal(_ operation: String, _ arguments: JSON) async -> String? {
        let error = await failure { try await host.call(operation, arguments) }
        guard let code = error?.code else { return nil }
        return code.hasPrefix("files.") ? String(code.dropFirst(6)) : code
    }

    // MARK: The disk, past the family

    func text(_ name: String) -> String? { try? String(contentsOfFile: "\(root)/\(name)", encoding: .utf8) }
    func put(_ name: String, _ text: String) throws { try project.write(name, Array(text.utf8)) }
    func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
    }
    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: "\(root)/\(name)", withDestinationPath: target)
    }
    func names(_ folder: String = ".") -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)").sorted()) ?? []
    }
    func status(_ name: String) -> stat? {
        var status = stat()
        return lstat("\(root)/\(name)", &status) == 0 ? status : nil
    }

    /// A folder beside the project's files, with a file in it.
    func makeOutside() throws -> String {
        let outside = project.data + "/outside"
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
        try Data("outside".utf8).write(to: URL(fileURLWithPath: outside + "/secret"))
        return outside
    }
}
