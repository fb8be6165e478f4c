/// What must be known of a plugin's JSON before it joins that of others in one text.
struct PayloadScan {
    /// One value whose brackets and quotes match: it cannot reach beyond its place.
    private(set) var isContained = false
    /// It holds a key that starts with `$`, or an integer that a JavaScript number may not hold.
    private(set) var needsCare = false

    /// Above this a payload crosses on its own, and the engine's parser is the only one to look at it.
    static let limit = 4_096

    init(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { scan($0) }
    }

    private mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>) {
        // One bit a level: whether it is an object. Deeper ones are left to the parser.
        var kinds: UInt64 = 0
        var depth = 0
        var digits = 0
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits += 1
                if digits == 16 { needsCare = true }
                continue
            case UInt8(ascii: "\""):
                if index < bytes.count, bytes[index] == UInt8(ascii: "$") { needsCare = true }
                while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
                    if bytes[index] < 0x20 { return }
                    index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                if index >= bytes.count { return }
                index += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < 64 else { return }
                kinds = kinds << 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0, kinds & 1 == (byte == UInt8(ascii: "}") ? 1 : 0) else { return }
                kinds >>= 1
                depth -= 1
            case UInt8(ascii: ","): if depth == 0 { return }
            case 0: return
            default: break
            }
            digits = 0
        }
        isContained = depth == 0 && !bytes.isEmpty
    }
}
