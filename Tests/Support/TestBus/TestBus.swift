import Foundation
import Glibc
import Synchronization

/// A message bus of its own for a test: a dbus-daemon in a folder of its own, gone with this object.
public final class TestBus: Sendable {
    private let folder: String
    private let daemon = Mutex<Process?>(nil)

    /// The address that stays the same when the daemon is stopped and started again.
    public var address: String { "unix:path=\(folder)/bus" }

    public init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "apsule-bus-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try configuration.write(toFile: "\(folder)/bus.conf", atomically: true, encoding: .utf8)
        try start()
    }

    /// No service is started on demand, and everyone of this user may do everything.
    private var configuration: String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
          <policy context="default">
            <deny send_interface="org.apsule.Forbidden"/>
          </policy>
        </busconfig>
        """
    }

    /// Starts the daemon and returns once it listens.
    public func start() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "dbus-daemon", "--config-file=\(folder)/bus.conf", "--nofork", "--nopidfile", "--print-address=1",
        ]
        let output = Pipe()
        process.standardOutput = output
        // Without root it may not raise its own limit of open files, and says so each time.
        process.standardError = FileHandle.nullDevice
        try process.run()
        guard !output.fileHandleForReading.availableData.isEmpty else { throw CocoaError(.executableLoad) }
        daemon.withLock { $0 = process }
    }

    /// Ends the daemon at once: every connection breaks.
    public func kill() {
        let process = daemon.withLock { process in
            defer { process = nil }
            return process
        }
        guard let process else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: "\(folder)/bus")
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
