import ApsuleKit
import Glibc
import HostCore
import ScriptText

/// Reads files of the project, beneath its folder only.
///
/// `Sendable`: the descriptor is open as long as this lives, and reading at offsets takes any thread.
final class ProjectReader: Sendable {
    private let folder: OwnedFile
    init(_ folder: OwnedFile) { self.folder = folder }

    /// A file's bytes; nil where there is none.
    func read(_ path: String) throws(HostError) -> [UInt8]? { try FileReader.read(path, beneath: folder) }
}

/// The script that a worker runs: the entry itself, or the bundle that the parent made of it.
enum ScriptSource {
    static func load(_ entry: String, project: ProjectReader, bundle: OwnedFile?) throws(HostError) -> Script {
        guard let bytes = try project.read(entry) else {
            throw HostError.entryMissing(entry)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HostError("script.not_utf8", "\(entry) is not UTF-8.", details: ["path": .string(entry)])
        }
        if let bundle { return try ScriptBundle(path: entry, source: text).script(try FileReader.read(bundle, entry)) }
        return Script(path: entry, text: text)
    }
}
