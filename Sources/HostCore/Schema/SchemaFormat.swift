import ApsuleKit

/// The formats that are checked.
///
/// One that does not apply to a value's type fits it, as in JSON Schema.
enum SchemaFormat: String, CaseIterable, Sendable {
    /// RFC 3986, with a scheme.
    case uri
    /// RFC 3339.
    case dateTime = "date-time"
    /// RFC 9562, in its text form.
    case uuid
    /// An integer that 64 bits hold; beyond ±2^53 a BigInt in JavaScript.
    case int64
    /// Beneath the project's files: relative, without NUL. The sandbox resolves it.
    case path
    /// 16, 32 or 128 bits: `180d`, `0x180D`, `0000180d-0000-1000-8000-00805f9b34fb`, or the number.
    case bluetoothUUID = "bluetooth-uuid"

    var applies: SchemaTypes {
        switch self {
        case .int64: .integer
        case .bluetoothUUID: [.string, .integer]
        default: .string
        }
    }

    var expectation: String {
        switch self {
        case .uri: "a URI such as https://example.com/"
        case .dateTime: "a date and time such as 2026-01-31T12:00:00Z"
        case .uuid: "a UUID such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8"
        case .int64: "an integer of 64 bits"
        case .path: "a relative path"
        case .bluetoothUUID: "a Bluetooth UUID such as \"180d\", 0x180d or all 128 bits"
        }
    }

    func fits(_ value: JSON) -> Bool {
        switch (self, value) {
        case (.int64, .double(let number)): return number.rounded() != number || Int64(exactly: number) != nil
        case (.bluetoothUUID, .int(let number)): return 0...0xFFFF_FFFF ~= number
        case (.bluetoothUUID, .double(let number)): return number.rounded() != number || 0...0xFFFF_FFFF ~= number
        case (.int64, _): return true
        case (_, .string(let string)):
            return JSON.withUTF8(of: string) { bytes in
                switch self {
                case .uri: return URISyntax.isURI(bytes)
                case .dateTime: return DateTimeSyntax.isDateTime(bytes)
                case .uuid: return Self.isUUID(bytes)
                case .path: return !bytes.isEmpty && bytes[0] != UInt8(ascii: "/") && !bytes.contains(0)
                case .bluetoothUUID: return Self.isBluetoothUUID(bytes)
                case .int64: return true
                }
            }
        default: return true
        }
    }

    /// RFC 4648 section 4, padded, without line breaks.
    static func isBase64(_ string: String) -> Bool {
        JSON.withUTF8(of: string) { bytes in
            guard bytes.count % 4 == 0 else { return false }
            var count = bytes.count
            while count > 0, bytes.count - count < 2, bytes[count - 1] == UInt8(ascii: "=") { count -= 1 }
            return bytes[..<count].allSatisfy {
                isDigit($0) || ($0 | 0x20) &- UInt8(ascii: "a") < 26 || $0 == UInt8(ascii: "+")
                    || $0 == UInt8(ascii: "/")
            }
        }
    }

    private static func isUUID(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.count == 36
            && bytes.indices.allSatisfy { index in
                switch index {
                case 8, 13, 18, 23: bytes[index] == UInt8(ascii: "-")
                default: isHexadecimal(bytes[index])
                }
            }
    }

    private static func isBluetoothUUID(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        if isUUID(bytes) { return true }
        let isPrefixed = bytes.count > 2 && bytes[0] == UInt8(ascii: "0") && bytes[1] | 0x20 == UInt8(ascii: "x")
        let digits = isPrefixed ? bytes[2...] : bytes[...]
        return (digits.count == 4 || digits.count == 8) && digits.allSatisfy(isHexadecimal)
    }
}

func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

func isHexadecimal(_ byte: UInt8) -> Bool { isDigit(byte) || (byte | 0x20) &- UInt8(ascii: "a") < 6 }

extension JSON {
    static func withUTF8<Result>(of string: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var string = string
        return string.withUTF8(body)
    }
}
