import ApsuleKit
public import CApsule

/// `host.device`: what machine this is, from files that a confined process may read.
final class DeviceFamily: Family {
    static let name = "device"

    static let operations: [Operation<DeviceFamily>] = [
        .call("info", info)
    ]

    let project: Project
    let files = SystemFiles()

    init(_ project: Project) { self.project = project }
}

@c(apsule_plugin_device)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(DeviceFamily.self)
