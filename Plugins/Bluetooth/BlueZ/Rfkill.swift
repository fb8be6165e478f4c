internal import Glibc

/// Blocked radios, as the kernel tells every user.
///
/// Source: <https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-rfkill>
struct Rfkill: Sendable {
    enum Block: Sendable { case soft, hard }

    var folder = "/sys/class/rfkill"

    /// Whether an adapter is blocked: its own switch counts, and one of the platform that takes the adapter away.
    ///
    /// - Parameter adapter: the kernel's name (`hci0`), nil when there is no adapter at all.
    func block(adapter: String?) -> Block? {
        var found: Block?
        for entry in entries() where read(entry, "type") == "bluetooth" {
            let name = read(entry, "name") ?? ""
            if let adapter, name.hasPrefix("hci"), name != adapter { continue }
            if read(entry, "hard") == "1" { return .hard }
            if read(entry, "soft") == "1" { found = .soft }
        }
        return found
    }

    private func entries() -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix("rfkill") { names.append(name) }
        }
        return names.sorted()
    }

    private func read(_ entry: String, _ attribute: String) -> String? {
        let file = open("\(folder)/\(entry)/\(attribute)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
