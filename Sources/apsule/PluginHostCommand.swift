import ApsuleKit
import HostCore

/// `apsule plugin-host FILE`: one plugin behind the same ABI, in a process of its own.
///
/// Descriptor 3 is its channel.
enum PluginHostCommand {
    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        guard let path = arguments.first else {
            throw HostError("usage.invalid", "apsule plugin-host is started by the host.")
        }
        let library = try PluginLibrary(inspecting: path)
        let server = PluginHostServer(
            family: library.family, channel: FrameChannel(OwnedFile(3)),
            open: { project, host throws(HostError) in try PluginProvider(library, project: project, host: host) },
            probe: { library.probe($0) })
        try server.run()
        return .ok
    }
}
