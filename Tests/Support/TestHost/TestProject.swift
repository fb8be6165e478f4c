public import ApsuleKit
import Foundation

/// The folders of one project, removed when released.
public final class TestProject: Sendable {
    public let id: String
    /// The folder that `Call.open` reaches.
    public let files: String
    /// The family's private folder.
    public let data: String
    let root: String
    private let isOwner: Bool

    /// Makes folders of its own.
    public convenience init(id: String = "test.project") throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apsule-test-\(UUID().uuidString)")
        try self.init(id: id, root: folder.path, isOwner: true)
    }

    /// Uses the folders of another process.
    public convenience init(root: String) throws { try self.init(id: "test.project", root: root, isOwner: false) }

    private init(id: String, root: String, isOwner: Bool) throws {
        (self.id, self.root, self.isOwner) = (id, root, isOwner)
        files = root + "/files"
        data = root + "/data"
        for folder in [files, data] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
    }

    deinit { if isOwner { try? FileManager.default.removeItem(atPath: root) } }

    /// Writes a file beneath the project's files.
    public func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(files)/\(name)"))
    }
}

extension TestProject {
    /// What a file beneath the project's files has in it; nil where there is none.
    public func read(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: "\(files)/\(name)").map { [UInt8]($0) }
    }

    /// The names of all that is in the project's files.
    public var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: files).sorted() }
    }
}

/// What `body` fails with, nil where it does not.
public func failure(_ body: () async throws -> some Any) async -> HostError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? HostError ?? HostError("test.unexpected", "\(error)")
    }
}
