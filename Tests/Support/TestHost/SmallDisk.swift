import Foundation

/// A file system of a test's own, over one folder, in the mount namespace of a process that the test starts.
public enum SmallDisk {
    /// The wrapper of a `PluginProcess` that sees it.
    public static func command(over folder: String, size: String = "400k") -> [String] {
        [
            "unshare", geteuid() == 0 ? "-m" : "-rm", "sh", "-c",
            "mount -t tmpfs -o size=\(size) tmpfs \"$0\" && exec \"$@\"", folder,
        ]
    }

    /// Whether this machine lets tests mount.
    public static let isPossible: Bool = {
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        probe.arguments = command(over: "/mnt") + ["true"]
        probe.standardError = FileHandle.nullDevice
        guard (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }()

    /// Gives the process's disk another size.
    public static func resize(_ process: PluginProcess, _ folder: String, to size: String) throws {
        let spaces = geteuid() == 0 ? ["-m"] : ["-U", "-m", "--preserve-credentials"]
        let mount = Process()
        mount.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        mount.arguments =
            ["nsenter", "-t", "\(process.id)"] + spaces + ["mount", "-o", "remount,size=\(size)", folder]
        try mount.run()
        mount.waitUntilExit()
        guard mount.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
