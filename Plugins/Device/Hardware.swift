import ApsuleKit

/// Model, manufacturer and screens, from what firmware and display drivers say under `/sys`.
struct Hardware {
    let model: String?
    let manufacturer: String?
    let kind: String?
    let screens: JSON

    init(_ files: SystemFiles) {
        let dmi = "sys/class/dmi/id/"
        let vendor = Self.meaningful(files.text(dmi + "sys_vendor"))
        // Lenovo keeps an order number in the name, and the name that people know in the version.
        let names = vendor == "LENOVO" ? ["product_version", "product_name"] : ["product_name", "product_version"]
        let tree = files.text("sys/firmware/devicetree/base/model")
        model = Self.meaningful(names.lazy.compactMap { Self.meaningful(files.text(dmi + $0)) }.first ?? tree)
        manufacturer = vendor
        kind = Self.kind(chassis: files.number(dmi + "chassis_type"), vendor: vendor)
        screens = .array(files.names("sys/class/drm").compactMap { Self.screen($0, files) })
    }

    /// What boards carry whose maker did not fill the field in.
    private static let placeholders: Set<String> = [
        "to be filled by o.e.m.", "default string", "system product name", "system manufacturer", "system version",
        "not specified", "not applicable", "none", "unknown", "oem", "o.e.m.", "invalid", "type1productconfigid", "x.x",
        "123456789", "0123456789", "empty",
    ]

    private static func meaningful(_ text: String?) -> String? {
        text.flatMap { placeholders.contains($0.lowercased()) ? nil : $0 }
    }

    private static let hypervisors = ["qemu", "vmware", "innotek", "xen", "parallels", "bochs", "amazon ec2", "google"]

    /// The chassis types of SMBIOS, section 7.4.1.
    ///
    /// Source: <https://www.dmtf.org/standards/smbios>
    private static func kind(chassis: Double?, vendor: String?) -> String? {
        if let vendor = vendor?.lowercased(), hypervisors.contains(where: vendor.hasPrefix) { return "vm" }
        return switch Int(chassis ?? 0) {
        case 3, 4, 5, 6, 7, 13, 15, 16, 24, 35, 36: "desktop"
        case 8, 9, 10, 14: "laptop"
        case 11: "handset"
        case 17, 23, 25, 28, 29: "server"
        case 30, 32: "tablet"
        case 31: "convertible"
        case 33, 34: "embedded"
        default: nil
        }
    }

    /// One connector, named `card0-HDMI-A-1`; the first of its modes is the one the screen prefers.
    private static func screen(_ connector: String, _ files: SystemFiles) -> JSON? {
        let folder = "sys/class/drm/\(connector)/"
        guard let dash = connector.firstIndex(of: "-"), files.text(folder + "status") == "connected" else { return nil }
        let mode = (files.text(folder + "modes") ?? "").prefix { $0 != "\n" }
        let size = mode.split(separator: "x").map { Int64($0.prefix { $0.isNumber }) }
        return [
            "name": .string(String(connector[connector.index(after: dash)...])),
            "width": size.count == 2 ? size[0].map(JSON.int) ?? .null : .null,
            "height": size.count == 2 ? size[1].map(JSON.int) ?? .null : .null,
        ]
    }
}
