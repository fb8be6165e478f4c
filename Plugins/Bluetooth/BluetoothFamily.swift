import ApsuleDBus
import ApsuleKit
public import CApsule

/// `host.bluetooth`: Bluetooth Low Energy over BlueZ.
final class BluetoothFamily: Family {
    static let name = "bluetooth"

    static let operations: [Operation<BluetoothFamily>] = [
        .task("authorization", authorization),
        .stream("scan", scan),
        .call("stopScan", stopScan),
        .task("connect", connect),
        .task("disconnect", disconnect),
        .stream("watch", watch),
        .stream("pair", pair),
        .call("confirmPairing", confirmPairing),
        .task("unpair", unpair),
        .call("services", services),
        .call("characteristics", characteristics),
        .task("read", read),
        .task("write", write),
        .stream("subscribe", subscribe),
    ]

    /// What the machine gives.
    struct Machine: Sendable {
        var bus = DBusBus.system
        var rfkill = Rfkill()
    }

    /// Tests open an instance on another bus.
    @TaskLocal static var machine = Machine()

    let radio: Radio
    let discovery: Discovery
    let identity: DeviceIdentity
    let blocklist: Blocklist
    let scans = RunningScans()
    let connections: Connections
    let notifications: Notifications
    let pairings: Pairings
    var bluez: Bluez { radio.bluez }

    init(_ project: Project) throws {
        let folder = try project.dataDirectory()
        let machine = Self.machine
        radio = Radio(
            bluez: Bluez(bus: machine.bus), rfkill: machine.rfkill,
            preferred: project.settings["adapter"]?.stringValue)
        discovery = Discovery(radio: radio)
        identity = try DeviceIdentity(folder: folder)
        blocklist = Blocklist(settings: project.settings)
        connections = Connections(radio.bluez)
        notifications = Notifications(radio.bluez)
        pairings = Pairings(radio.bluez, record: PairedRecord(folder: folder))
    }

    func close() {
        connections.close()
        bluez.close()
    }
}

@c(apsule_plugin_bluetooth)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(BluetoothFamily.self)
