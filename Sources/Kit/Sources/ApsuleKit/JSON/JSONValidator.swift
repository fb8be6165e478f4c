extension JSON {
    /// Whether `JSON(parsing:)` would take the bytes, without building anything: nil, or why not.
    public static func isWellFormed(
        _ bytes: UnsafeBufferPointer<UInt8>, maxDepth: Int = defaultDepth
    ) -> Failure? {
        guard let scanner = JSONScanner(bytes) else { return Failure("nothing to read", at: 0) }
        var validator = JSONValidator(scanner: scanner, maxDepth: min(maxDepth, greatestDepth))
        do throws(Failure) { try validator.run() } catch { return error }
        return nil
    }
}

/// Walks over a JSON text without recursion; remembers one bit a level, set for an object.
struct JSONValidator {
    private var scanner: JSONScanner
    private let maxDepth: Int
    private var depth = 0
    private var objects: [2 of UInt64] = [0, 0]  // greatestDepth bits

    init(scanner: JSONScanner, maxDepth: Int) {
        self.scanner = scanner
        self.maxDepth = maxDepth
    }

    mutating func run() throws(JSON.Failure) {
        try scanner.begin()
        repeat {
            guard try value() else { continue }  // a container was opened: its first value is next
            while try closes() {}
        } while depth > 0
        try scanner.finish()
    }

    /// Steps over a scalar or an empty container (true), or into a container up to its first value.
    private mutating func value() throws(JSON.Failure) -> Bool {
        switch scanner.peek {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "{"), UInt8(ascii: "["): return try open()
        case UInt8(ascii: "t"): try scanner.literal("true")
        case UInt8(ascii: "f"): try scanner.literal("false")
        case UInt8(ascii: "n"): try scanner.literal("null")
        default: _ = try scanner.number()
        }
        return true
    }

    private mutating func open() throws(JSON.Failure) -> Bool {
        guard depth < maxDepth else { throw scanner.tooDeep(maxDepth) }
        let isObject = scanner.peek == UInt8(ascii: "{")
        scanner.next += 1
        scanner.skipSpace()
        if scanner.peek == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            scanner.next += 1
            return true
        }
        let bit: UInt64 = 1 << UInt64(depth & 63)
        if isObject { objects[depth >> 6] |= bit } else { objects[depth >> 6] &= ~bit }
        depth += 1
        if isObject { try key() }
        return false
    }

    /// Behind a value: steps over the end of its container (true), or up to the next value (false).
    private mutating func closes() throws(JSON.Failure) -> Bool {
        guard depth > 0 else { return false }
        let level = depth - 1
        let isObject = objects[level >> 6] >> UInt64(level & 63) & 1 == 1
        scanner.skipSpace()
        if scanner.peek == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            scanner.next += 1
            depth = level
            return true
        }
        guard scanner.peek == UInt8(ascii: ",") else {
            throw scanner.failure(isObject ? "expected ',' or '}'" : "expected ',' or ']'")
        }
        scanner.next += 1
        scanner.skipSpace()
        if isObject { try key() }
        return false
    }

    private mutating func key() throws(JSON.Failure) {
        guard scanner.peek == UInt8(ascii: "\"") else { throw scanner.failure("expected a key in quotes") }
        try string()
        try scanner.colon()
    }

    @inline(__always)
    private mutating func string() throws(JSON.Failure) {
        let text = try scanner.string()
        try scanner.check(text)
    }
}
