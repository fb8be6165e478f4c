import ApsuleKit

/// What one scan has found: decides what is news, which device has fallen silent, and what the final list says.
struct ScanResults {
    struct Found: Sendable {
        var device: Device
        let id: String
        /// When its last advertisement arrived, and which number it has among all that were found.
        var heard: Duration
        let number: Int
        var isGone = false
    }

    let filter: ScanFilter
    /// Whether every advertisement is news, not only one that differs.
    let allowsDuplicates: Bool
    /// How long a device may be silent before it is reported gone.
    let goneAfter: Duration
    static let limit = 4096

    private var found: [String: Found] = [:]
    private var number = 0

    init(filter: ScanFilter, allowsDuplicates: Bool, goneAfter: Duration) {
        self.filter = filter
        self.allowsDuplicates = allowsDuplicates
        self.goneAfter = goneAfter
    }

    /// An advertisement that was heard just now; says whether it is to be reported.
    ///
    /// - Parameter id: asked once for a device that matches.
    mutating func heard(_ device: Device, at now: Duration, id: (Device) -> String?) -> Found? {
        guard filter.matches(device) else { return nil }
        if var known = found[device.path] {
            let isNews = allowsDuplicates || known.isGone || !device.advertisesSame(as: known.device)
            (known.device, known.heard, known.isGone) = (device, now, false)
            found[device.path] = known
            return isNews ? known : nil
        }
        guard let id = id(device) else { return nil }
        makeRoom()
        number += 1
        let new = Found(device: device, id: id, heard: now, number: number)
        found[device.path] = new
        return new
    }

    /// Properties that changed without an advertisement: news for a device that was found.
    mutating func changed(_ device: Device) -> Found? {
        guard var known = found[device.path], !known.isGone, !device.advertisesSame(as: known.device) else {
            return nil
        }
        // The strength of the signal is taken away when discovery pauses; what was heard last stays true of the scan.
        var device = device
        device.rssi = device.rssi ?? known.device.rssi
        known.device = device
        found[device.path] = known
        return known
    }

    /// BlueZ forgot the device.
    mutating func removed(_ path: String) -> Found? {
        guard var known = found[path], !known.isGone else { return nil }
        known.isGone = true
        found[path] = known
        return known
    }

    /// The devices that were last heard longer ago than they may be silent; each is given once.
    ///
    /// A connected device need not advertise.
    mutating func silent(at now: Duration) -> [Found] {
        var silent: [Found] = []
        for (path, known) in found where !known.isGone && !known.device.isConnected && now - known.heard >= goneAfter {
            found[path]?.isGone = true
            silent.append(known)
        }
        return silent.sorted { $0.number < $1.number }
    }

    /// The radio was away: nothing could be heard meanwhile.
    mutating func resumed(at now: Duration) {
        for path in found.keys { found[path]?.heard = now }
    }

    /// All that was found, the strongest signal first.
    var list: [Found] {
        found.values.sorted { one, other in
            let (first, second) = (one.device.rssi ?? .min, other.device.rssi ?? .min)
            return first == second ? one.number < other.number : first > second
        }
    }

    /// Devices that change their address would otherwise fill a scan that runs for days.
    private mutating func makeRoom() {
        guard found.count >= Self.limit else { return }
        let oldest = found.values.sorted { ($0.isGone ? 0 : 1, $0.heard) < ($1.isGone ? 0 : 1, $1.heard) }
        for known in oldest.prefix(Self.limit / 4) { found[known.device.path] = nil }
    }
}
