internal import ApsuleKit
internal import Glibc

/// What a plugin-host may reach: system files, its library, its family's own folder, and what its descriptor asks for.
public struct PluginHostConfinement: Sendable {
    private let installation: Installation
    private let library: String
    private let descriptor: Descriptor?
    private let folder: String?

    /// - Parameters:
    ///   - library: the plugin's file.
    ///   - descriptor: whose `sandbox` says what is let in: `read`, `write` and `devices`, each a list of paths.
    ///   - folder: the family's private folder for the project, writable; it must exist.
    public init(installation: Installation, library: String, descriptor: Descriptor?, folder: String?) {
        (self.installation, self.library, self.descriptor, self.folder) = (installation, library, descriptor, folder)
    }

    /// `apsule plugin-host`, started through the launcher.
    ///
    /// - Parameters:
    ///   - socket: its end of the channel.
    ///   - output: where standard output and error go; nil: nowhere.
    public func command(socket: OwnedFile, output: OwnedFile? = nil) -> ChildCommand {
        var arguments: [String] = []
        func allow(_ option: String, _ paths: [String]) {
            for path in paths where access(path, F_OK) == 0 { arguments += [option, path] }
        }
        allow("--ro", SystemFiles.readable + [library] + asked("read"))
        allow("--rx", [installation.folder] + LoadedLibraries.folders)
        allow("--rw", [folder].compactMap { $0 } + asked("write"))
        allow("--dev", ["/dev/null"] + asked("devices"))
        arguments += ["--filter", "--rlimit", "core=0", "--keep", "3", "--parent", String(getpid())]
        arguments += ["--", installation.folder + "/apsule", "plugin-host", library]
        var descriptors: [Int32: OwnedFile] = [3: socket]
        if let output { (descriptors[1], descriptors[2]) = (output, output) }
        return ChildCommand(
            installation.folder + "/apsule-launch", arguments,
            environment: ChildEnvironment(proxies: descriptor?.permission == "network"), descriptors: descriptors)
    }

    private func asked(_ kind: String) -> [String] {
        descriptor?.sandbox?[kind]?.arrayValue?.compactMap(\.stringValue) ?? []
    }
}
