import ApsuleKit
internal import Synchronization

extension BluetoothFamily {
    /// Looks for peripherals until the time is over, `stopScan` is called or the stream is cancelled.
    ///
    /// - Parameter call: `{durationMs?, services?, name?, namePrefix?, minRssi?, allowDuplicates?, goneAfterMs?,
    ///   encoding?}`.
    /// - Returns: all that was found, the strongest first: `[{id, name?, rssi, txPower?, services, manufacturerData,
    ///   serviceData, appearance?, paired, connected}]`; rssi and txPower in dBm.
    /// - Throws: why the radio cannot be used; `bluetooth.blocklisted`.
    func scan(_ call: Call, _ events: EventStream) async throws -> JSON {
        let options = try ScanOptions(call.arguments)
        for service in options.filter.services { try blocklist.check(service: service) }
        _ = try await radio.adapter()
        return try await Scan(self, call, events, options).run()
    }

    /// Ends every scan of this project; each still gives its list.
    ///
    /// - Returns: `{stopped: number}`.
    func stopScan(_ call: Call) -> JSON { ["stopped": .int(Int64(scans.stop()))] }
}

/// How to scan.
struct ScanOptions: Sendable {
    let filter: ScanFilter
    let allowsDuplicates: Bool
    /// nil: until it is stopped.
    let duration: Duration?
    let goneAfter: Duration
    let form: ValueForm

    init(_ arguments: Arguments) throws(HostError) {
        filter = try ScanFilter(arguments)
        allowsDuplicates = try arguments["allowDuplicates"] ?? false
        let durationMs: Int = try arguments["durationMs"] ?? 10_000
        duration = durationMs == 0 ? nil : .milliseconds(durationMs)
        form = try arguments["encoding"] ?? .base64
        // BlueZ itself forgets a device after 30 s; a radio that filters duplicates tells of it every 15 s.
        goneAfter = .milliseconds(try arguments["goneAfterMs"] ?? 30_000)
    }
}

/// The scans that run, so that they can be stopped from outside.
final class RunningScans: Sendable {
    private let scans = Mutex<[ObjectIdentifier: Scan]>([:])

    func add(_ scan: Scan) { scans.withLock { $0[ObjectIdentifier(scan)] = scan } }
    func remove(_ scan: Scan) { scans.withLock { $0[ObjectIdentifier(scan)] = nil } }

    func stop() -> Int {
        let running = scans.withLock { Array($0.values) }
        for scan in running { scan.finish() }
        return running.count
    }
}
