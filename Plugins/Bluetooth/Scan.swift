import ApsuleDBus
import ApsuleKit
internal import Synchronization

/// One running scan: takes what the D-Bus thread hears, and reports what is news.
final class Scan: Sendable {
    private enum Input: Sendable {
        case heard(Device)
        case changed(Device)
        case removed(Device)
        case session(Discovery.Signal)
        case time
    }

    private let family: BluetoothFamily
    private let call: Call
    private let events: EventStream
    private let options: ScanOptions
    private let inputs: AsyncStream<Input>
    private let input: AsyncStream<Input>.Continuation
    /// Inputs that were dropped since the last report because the consumer was too slow.
    private let dropped = Atomic<Int>(0)
    private let started = ContinuousClock.now

    init(_ family: BluetoothFamily, _ call: Call, _ events: EventStream, _ options: ScanOptions) {
        self.family = family
        self.call = call
        self.events = events
        self.options = options
        (inputs, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(8192))
    }

    /// Ends the scan; what was heard until now still counts.
    func finish() { input.finish() }

    func run() async throws -> JSON {
        let listening = listen()
        let membership = try await family.discovery.join(options.filter.discovery) { [self] in post(.session($0)) }
        family.scans.add(self)
        call.onCancel { [weak self] in self?.finish() }
        events.open()
        // What a session of another program has heard is not told again until it is heard again.
        for device in family.bluez.read({ Array($0.devices.values) }) where device.rssi != nil { post(.heard(device)) }
        let clock = Task { [weak self, options] in
            let step = min(max(options.goneAfter / 8, .milliseconds(50)), .seconds(1))
            while !Task.isCancelled {
                try await Task.sleep(for: step)
                self?.post(.time)
            }
        }
        // A task that nobody cancels: a cancelled scan still takes what it has heard and gives its list.
        let results = await Task { await consume() }.value
        clock.cancel()
        listening.cancel()
        family.scans.remove(self)
        await family.discovery.leave(membership)
        return .array(results.list.map { $0.device.json(id: $0.id, options.form) })
    }

    // MARK: - The D-Bus thread

    private func listen() -> Subscription {
        family.bluez.listen { [weak self] change in
            switch change {
            case .object(.device(let device, let isHeard)): self?.post(isHeard ? .heard(device) : .changed(device))
            case .object(.deviceRemoved(let device)): self?.post(.removed(device))
            default: break
            }
        }
    }

    private func post(_ item: Input) {
        if case .dropped = input.yield(item) { dropped.add(1, ordering: .relaxed) }
    }

    // MARK: - The scan's own task

    private func consume() async -> ScanResults {
        var results = ScanResults(
            filter: options.filter, allowsDuplicates: options.allowsDuplicates, goneAfter: options.goneAfter)
        let scope = ScanScope(call)
        // While nothing can be heard, silence says nothing.
        var isDeaf = false
        for await item in inputs {
            let now = ContinuousClock.now - started
            switch item {
            case .heard(let device):
                if let found = results.heard(device, at: now, id: { identify($0, scope) }) { report(found) }
            case .changed(let device): if let found = results.changed(device) { report(found) }
            case .removed(let device): if let found = results.removed(device.path) { reportGone(found, now) }
            case .session(let signal):
                switch signal {
                case .lost, .paused: isDeaf = true
                case .resubscribed, .goesOn:
                    isDeaf = false
                    results.resumed(at: now)
                case .stalled: break
                }
                report(signal)
            case .time:
                if !isDeaf { for found in results.silent(at: now) { reportGone(found, now) } }
                let count = dropped.exchange(0, ordering: .relaxed)
                if count > 0 { events.post("dropped", ["count": .int(Int64(count))]) }
                if let duration = options.duration, now >= duration { finish() }
            }
        }
        return results
    }

    /// The device's id, or nil where the project may not know of it.
    private func identify(_ device: Device, _ scope: ScanScope) -> String? {
        let id = family.identity.id(device)
        return scope.allows(device, id: id, call) ? id : nil
    }

    private func report(_ found: ScanResults.Found) {
        events.post("device", found.device.json(id: found.id, options.form))
    }

    private func reportGone(_ found: ScanResults.Found, _ now: Duration) {
        var json: JSON = ["id": .string(found.id)]
        if let name = found.device.name { json.set("name", .string(name)) }
        json.set("silentMs", .int((now - found.heard).milliseconds))
        events.post("gone", json)
    }

    private func report(_ signal: Discovery.Signal) {
        switch signal {
        case .lost(let error):
            var json: JSON = ["code": .string(error.code), "message": .string(error.message)]
            if let fix = error.details["fix"] { json.set("fix", fix) }
            events.post("lost", json)
        case .resubscribed: events.post("resubscribed")
        case .paused, .goesOn: break
        case .stalled(let silence, let restarts):
            let json: JSON = [
                "code": "bluetooth.scan_stalled",
                "message": "Nothing was heard for a while; the scan was started again.",
                "silentMs": .int(silence.milliseconds), "restarts": .int(Int64(restarts)),
            ]
            events.post("stalled", json)
        }
    }
}

/// Which devices a scan may report, by the scope of the project's permission.
private struct ScanScope {
    private let limitsServices: Bool
    private let limitsDevices: Bool

    /// A value that nobody writes is in scope only where there is no limit.
    init(_ call: Call) {
        limitsServices = !call.allows("services", "*")
        limitsDevices = !call.allows("devices", "*")
    }

    func allows(_ device: Device, id: String, _ call: Call) -> Bool {
        if limitsDevices, !call.allows("devices", id) { return false }
        return !limitsServices || device.services.contains { call.allows("services", $0.full) }
    }
}

extension Duration {
    var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
