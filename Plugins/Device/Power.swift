import ApsuleKit

/// Batteries and power supplies.
///
/// Source: <https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-power>
struct Power {
    let battery: JSON
    /// Nil where the machine has no such sensor.
    let externalPower: Bool?

    init(_ files: SystemFiles) {
        let supplies = files.names("sys/class/power_supply").map { Supply("sys/class/power_supply/\($0)/", files) }
        let batteries = supplies.filter(\.isBattery)
        let plugs = supplies.filter(\.isPlug).compactMap(\.isOnline)
        externalPower = plugs.isEmpty ? nil : plugs.contains(true)
        guard !batteries.isEmpty else {
            battery = .null
            return
        }
        battery = [
            "level": Self.level(batteries).map(JSON.double) ?? .null,
            "state": .string(Self.state(batteries.map(\.status))),
            "count": .int(Int64(batteries.count)),
        ]
    }

    /// By content where every battery tells it in the same unit, else the mean of their percentages.
    private static func level(_ batteries: [Supply]) -> Double? {
        for unit in ["energy", "charge"] {
            let contents = batteries.compactMap { $0.content(unit) }
            let full = contents.reduce(0) { $0 + $1.full }
            guard contents.count == batteries.count, full > 0 else { continue }
            return rounded(contents.reduce(0) { $0 + $1.now } / full)
        }
        let percentages = batteries.compactMap(\.percentage)
        guard percentages.count == batteries.count else { return nil }
        return rounded(percentages.reduce(0, +) / Double(percentages.count) / 100)
    }

    private static func rounded(_ level: Double) -> Double { (min(1, max(0, level)) * 1000).rounded() / 1000 }

    private static func state(_ states: [String]) -> String {
        if states.contains("Discharging") { return "discharging" }
        if states.contains("Charging") { return "charging" }
        if states.allSatisfy({ $0 == "Full" }) { return "full" }
        return states.contains("Not charging") ? "notCharging" : "unknown"
    }
}

/// One entry of `/sys/class/power_supply`.
private struct Supply {
    /// One that feeds the machine; those of mice and headsets have the scope `Device`.
    let isBattery: Bool
    let isPlug: Bool
    let isOnline: Bool?
    let status: String
    let percentage: Double?
    private let folder: String
    private let files: SystemFiles

    init(_ folder: String, _ files: SystemFiles) {
        (self.folder, self.files) = (folder, files)
        let type = files.text(folder + "scope") == "Device" ? nil : files.text(folder + "type")
        isBattery = type == "Battery" && files.text(folder + "present") != "0"
        isPlug = type == "Mains" || type == "USB"
        isOnline = files.number(folder + "online").map { $0 > 0 }
        status = files.text(folder + "status") ?? ""
        percentage = files.number(folder + "capacity")
    }

    func content(_ unit: String) -> (now: Double, full: Double)? {
        guard let now = files.number(folder + "\(unit)_now"), let full = files.number(folder + "\(unit)_full") else {
            return nil
        }
        return (now, full)
    }
}
