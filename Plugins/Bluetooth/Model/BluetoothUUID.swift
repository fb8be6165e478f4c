import ApsuleKit

/// A Bluetooth UUID in its 128-bit lower-case form, as BlueZ writes it.
///
/// A caller may write `180d`, `0x180D`, `0000180d-0000-1000-8000-00805f9b34fb` or a standard name (`heart_rate`).
struct BluetoothUUID: Hashable, Sendable {
    static let base = "-0000-1000-8000-00805f9b34fb"

    /// 128 bits in lower case.
    let full: String

    init?(_ text: String) {
        var text = text.lowercased()
        if text.hasPrefix("0x") { text.removeFirst(2) }
        let bytes = Array(text.utf8)
        switch bytes.count {
        case 4 where bytes.allSatisfy(Self.isHex): full = "0000\(text)\(Self.base)"
        case 8 where bytes.allSatisfy(Self.isHex): full = text + Self.base
        case 36 where Self.isFull(bytes): full = text
        default: return nil
        }
    }

    init(short: UInt16) {
        let digits = String(short, radix: 16)
        full = "0000" + String(repeating: "0", count: 4 - digits.count) + digits + Self.base
    }

    /// The 16 bits of a UUID that the Bluetooth SIG assigned.
    var assigned: UInt16? {
        guard full.hasPrefix("0000"), full.hasSuffix(Self.base) else { return nil }
        return UInt16(full.dropFirst(4).prefix(4), radix: 16)
    }

    /// What callers get: `180d` for an assigned UUID, 128 bits for others.
    var text: String {
        guard full.hasSuffix(Self.base) else { return full }
        return String(full.hasPrefix("0000") ? full.dropFirst(4).prefix(4) : full.prefix(8))
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    private static func isFull(_ bytes: [UInt8]) -> Bool {
        bytes.indices.allSatisfy { [8, 13, 18, 23].contains($0) ? bytes[$0] == UInt8(ascii: "-") : isHex(bytes[$0]) }
    }
}

/// A service as a caller names it: by UUID or by standard name.
struct ServiceName: ArgumentValue {
    let uuid: BluetoothUUID

    init(_ arguments: Arguments) throws(HostError) {
        let text = try String(arguments)
        guard let uuid = BluetoothUUID(text) ?? AssignedNumbers.service(named: text) else {
            throw arguments.mismatch("a service UUID (180d, 0x180d or 128 bits) or a standard name such as heart_rate")
        }
        self.uuid = uuid
    }
}

/// One of several attributes of the same kind: by UUID, by standard name, or by the id that a listing gave.
struct AttributeName: Sendable, Hashable {
    let text: String
    let uuid: BluetoothUUID?
    /// The attribute's handle, from an id such as `#000c`.
    let handle: String?

    init(_ arguments: Arguments, named lookup: (String) -> BluetoothUUID?) throws(HostError) {
        text = try String(arguments)
        handle = text.hasPrefix("#") ? String(text.dropFirst()) : nil
        uuid = handle == nil ? BluetoothUUID(text) ?? lookup(text) : nil
        guard handle != nil || uuid != nil else {
            throw arguments.mismatch("a UUID (2a19, 0x2a19 or 128 bits), a standard name or an id such as #000c")
        }
    }

    func matches(_ uuid: BluetoothUUID, handle: String) -> Bool { self.uuid == uuid || self.handle == handle }
}
