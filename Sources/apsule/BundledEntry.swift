import ApsuleKit
import Glibc
import HostCore
import ScriptText

/// The entry of a project that needs bundling: made by the parent, read by the worker.
enum BundledEntry {
    /// What the bundler made of the entry; nil where it runs as it is.
    ///
    /// - Throws: `script.bundler_missing`, or the `ScriptError` that esbuild's message stands for.
    static func make(_ entry: String, folder: String, installation: Installation) throws -> OwnedFile? {
        let path = "\(folder)/\(entry)"
        guard FileReader.exists(path) else { throw HostError.entryMissing(entry) }
        let bytes = try FileReader.read(path)
        let bundle = ScriptBundle(path: entry, source: String(decoding: bytes, as: UTF8.self))
        guard ScriptBundle.isNeeded(path: entry, source: bundle.source) else { return nil }
        guard access(ScriptBundle.executable, X_OK) == 0 else { throw bundle.missing }
        let tool = ConfinedTool(installation: installation, program: ScriptBundle.executable)
        let directory = bundle.folder.isEmpty ? folder : "\(folder)/\(bundle.folder)"
        let output = try tool.run(bundle.arguments, input: bundle.input, folder: folder, directory: directory)
        guard output.succeeded else {
            throw bundle.failure(output.errors) { path in
                (try? FileReader.read("\(folder)/\(path)")).map { String(decoding: $0, as: UTF8.self) }
            }
        }
        return output.file
    }
}
