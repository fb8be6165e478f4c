public import ApsuleKit
internal import Glibc

/// A project in a folder: its manifest and who it is.
public struct ProjectFolder: Sendable {
    public let path: String
    public let manifest: Manifest
    public let identity: ProjectIdentity

    /// - Throws: `manifest.not_found`, `manifest.syntax`, `manifest.invalid`, `manifest.unknown_permission`.
    public init(_ path: String, catalogue: @autoclosure () -> PermissionCatalogue) throws(HostError) {
        guard let real = realpath(path, nil) else {
            throw HostError(
                "manifest.not_found", "\(path): \(String(cString: strerror(errno)))", details: ["path": .string(path)])
        }
        defer { free(real) }
        self.path = try HostPaths.text(real, "The project")
        let file = self.path + "/app.json"
        guard access(file, F_OK) == 0 else {
            throw HostError(
                "manifest.not_found", "\(path) has no app.json.",
                details: ["path": .string(file), "reason": "A project has an app.json.", "fix": "apsule init \(path)"])
        }
        let bytes = try FileReader.read(file, limit: Manifest.maximumSize)
        manifest = try Manifest(parsing: bytes, file: file, catalogue: catalogue())
        identity = try ProjectIdentity(id: manifest.id, path: self.path)
    }
}
