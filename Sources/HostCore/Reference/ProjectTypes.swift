public import ApsuleKit
internal import Glibc

/// What `apsule types` keeps in a project's folder for editors and compilers: `host.d.ts`, `app.schema.json` and,
/// where neither is there, `jsconfig.json`.
public struct ProjectTypes: Sendable {
    public enum State: String, Sendable { case missing, stale, current }

    private let declarations: String
    private let schema: String

    /// - Parameter snapshot: the families that scripts can call here, whether or not they work on this machine.
    public init(_ snapshot: Registry.Snapshot, _ catalogue: PermissionCatalogue) {
        let descriptors = Self.callable(snapshot)
        declarations = HostDeclarations.text(descriptors)
        schema = ManifestSchema.json(descriptors, catalogue).pretty() + "\n"
    }

    /// The families that scripts can call, each name once.
    public static func callable(_ snapshot: Registry.Snapshot) -> [Descriptor] {
        Set(snapshot.entries.map(\.family)).sorted().compactMap { family in
            snapshot.entry(family).flatMap { $0.isCallable ? $0.descriptor : nil }
        }
    }

    private var own: [(name: String, text: String)] { [("host.d.ts", declarations), ("app.schema.json", schema)] }

    /// What the files in a folder are; `jsconfig.json` is the project's own once it is there.
    public func states(in folder: String) -> [(name: String, state: State)] {
        var states = own.map { file -> (name: String, state: State) in
            guard let bytes = try? FileReader.read("\(folder)/\(file.name)") else { return (file.name, .missing) }
            return (file.name, bytes == Array(file.text.utf8) ? .current : .stale)
        }
        states.append(("jsconfig.json", Self.isConfigured(folder) ? .current : .missing))
        return states
    }

    /// Writes what is missing or stale.
    ///
    /// - Returns: the names of what was written.
    /// - Throws: `host.file_error`.
    @discardableResult
    public func write(to folder: String) throws(HostError) -> [String] {
        var written: [String] = []
        for (name, state) in states(in: folder) where state != .current {
            let text = own.first { $0.name == name }?.text ?? Self.configuration
            try AtomicFile.write("\(folder)/\(name)", Array(text.utf8), keep: name == "jsconfig.json")
            written.append(name)
        }
        return written
    }

    /// Brings the types of a project up to date, where it has any: to be called when it is run.
    ///
    /// - Returns: the names of what was written.
    /// - Throws: `host.file_error`; a project that cannot be written to runs all the same.
    @discardableResult
    public static func refresh(
        _ folder: String, _ snapshot: Registry.Snapshot, _ catalogue: PermissionCatalogue
    ) throws(HostError) -> [String] {
        guard isOurs("\(folder)/host.d.ts") else { return [] }
        return try ProjectTypes(snapshot, catalogue).write(to: folder)
    }

    /// A file of that name that somebody wrote is not touched unasked.
    private static func isOurs(_ path: String) -> Bool {
        guard let bytes = try? FileReader.read(path) else { return false }
        return bytes.starts(with: Array("// Written by `apsule types`".utf8))
    }

    private static func isConfigured(_ folder: String) -> Bool {
        ["jsconfig.json", "tsconfig.json"].contains { access("\(folder)/\($0)", F_OK) == 0 }
    }

    /// Scripts may await at top level, hence modules throughout; `types` keeps out what is installed for node.
    private static let configuration = """
        {
          "compilerOptions": {
            "target": "esnext",
            "module": "esnext",
            "moduleResolution": "node",
            "moduleDetection": "force",
            "lib": ["esnext"],
            "types": [],
            "allowJs": true,
            "checkJs": true,
            "strict": true,
            "noImplicitAny": false,
            "useUnknownInCatchVariables": false,
            "noEmit": true
          },
          "include": ["**/*.js", "**/*.ts"]
        }

        """
}
