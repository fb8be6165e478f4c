public import ApsuleKit
import Foundation

/// The folders of one project, removed when released.
public final class TestProject: Sendable {
    public let id: String
    /// The folder that `Call.open` reaches.
    public let files: String
    /// The family's private folder.
    public let data: String
    private let root: String

    public init(id: String = "test.project") throws {
        self.id = id
        root = FileManager.default.temporaryDirectory.appending(path: "apsule-test-\(UUID().uuidString)").path
        files = root + "/files"
        data = root + "/data"
        for folder in [files, data] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// Writes a file beneath the project's files.
    public func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(files)/\(name)"))
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
