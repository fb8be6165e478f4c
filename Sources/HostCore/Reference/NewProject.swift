public import ApsuleKit
internal import Glibc

/// A project that runs at once: what `apsule init` writes.
public struct NewProject: Sendable {
    public let folder: String
    public let id: String
    public let name: String

    /// - Parameter folder: made where it is missing; its name becomes the project's name and id.
    /// - Throws: `host.file_error` where the current folder cannot be used.
    public init(folder: String, current: String? = nil) throws(HostError) {
        var path = folder
        if !folder.hasPrefix("/") {
            let base = if let current { current } else { try HostPaths.currentFolder() }
            path = base + "/" + folder
        }
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part != ".." { parts.append(part) } else { _ = parts.popLast() }
        }
        self.folder = "/" + parts.joined(separator: "/")
        name = parts.last.map { SafeText.escape(String($0), limit: 100) } ?? "Project"
        id = "com.example." + Self.slug(name)
    }

    /// Lower-case letters, digits and single hyphens, as ids have them.
    static func slug(_ name: String) -> String {
        let words = name.lowercased().split { character in
            !character.utf8.allSatisfy { $0 == UInt8(ascii: "'") || $0.isLetterOrDigit }
        }
        let text = words.map { $0.filter { $0 != "'" } }.filter { !$0.isEmpty }.joined(separator: "-")
        return text.isEmpty ? "project" : String(text.prefix(64).reversed().drop { $0 == "-" }.reversed())
    }

    /// Writes `app.json` and `main.js`, and the types beside them.
    ///
    /// - Returns: the names of what was written.
    /// - Throws: `project.exists`, and then nothing was written; `host.file_error`.
    public func write(types: ProjectTypes) throws(HostError) -> [String] {
        for name in ["app.json", "main.js"] where access("\(folder)/\(name)", F_OK) == 0 { throw exists(name) }
        try makeFolder()
        for (name, text) in [("main.js", script), ("app.json", manifest.pretty() + "\n")] {
            do throws(HostError) { try AtomicFile.write("\(folder)/\(name)", Array(text.utf8), keep: true) } catch {
                throw error.code == "host.file_exists" ? exists(name) : error
            }
        }
        return ["app.json", "main.js"] + (try types.write(to: folder))
    }

    private func exists(_ name: String) -> HostError {
        HostError(
            "project.exists", "\(folder)/\(name) is there already; nothing was written.",
            details: ["path": .string("\(folder)/\(name)")])
    }

    private func makeFolder() throws(HostError) {
        var made = ""
        for part in folder.split(separator: "/") {
            made += "/" + part
            if mkdir(made, 0o755) != 0, errno != EEXIST {
                throw HostError(
                    "host.file_error", "\(made): \(String(cString: strerror(errno)))", details: ["path": .string(made)])
            }
        }
    }

    private var manifest: JSON {
        [
            "$schema": "./app.schema.json", "apsule": 1, "id": .string(id), "name": .string(name), "version": "0.1.0",
            "entry": "main.js", "permissions": [:],
        ]
    }

    /// Needs no permission, so that nobody is asked anything at first.
    private let script = """
        // apsule run . runs this; apsule discover lists what else host can do.

        const device = await host.device.info();
        console.log(`Hello from ${device.name}, ${device.systemName} on ${device.architecture}.`);

        for (let count = 3; count > 0; count--) {
            console.log(`${count} …`);
            await host.timer.sleep(300);
        }
        console.log("Done.");

        """
}
