extension JSON {
    /// Reads one JSON value.
    ///
    /// - Throws: `Failure` with the place and the reason. Refused besides what RFC 8259 refuses: nesting over
    ///   `maxDepth`, numbers beyond a double, `\u` escapes of half a surrogate pair, a byte order mark. Of duplicate
    ///   keys the last value stays, at the place of the first, as in JavaScript.
    public init(parsing bytes: UnsafeBufferPointer<UInt8>, maxDepth: Int = defaultDepth) throws(Failure) {
        guard let scanner = JSONScanner(bytes) else { throw Failure("nothing to read", at: 0) }
        var parser = JSONParser(scanner: scanner, maxDepth: min(maxDepth, JSON.greatestDepth))
        self = try parser.parse()
    }

    /// Reads one JSON value.
    public init(parsing bytes: [UInt8], maxDepth: Int = defaultDepth) throws(Failure) {
        self = try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in
            try JSON(parsing: buffer, maxDepth: maxDepth)
        }
    }

    /// Reads one JSON value.
    public init(parsing text: String, maxDepth: Int = defaultDepth) throws(Failure) {
        var text = text
        let result: Result<JSON, Failure> = text.withUTF8 { buffer in
            Result { () throws(Failure) in try JSON(parsing: buffer, maxDepth: maxDepth) }
        }
        self = try result.get()
    }
}

/// Builds values; recursion is bounded by `maxDepth`.
struct JSONParser {
    var scanner: JSONScanner
    let maxDepth: Int
    var depth = 0

    init(scanner: JSONScanner, maxDepth: Int) {
        self.scanner = scanner
        self.maxDepth = maxDepth
    }

    mutating func parse() throws(JSON.Failure) -> JSON {
        try scanner.begin()
        let value = try value()
        try scanner.finish()
        return value
    }

    private mutating func value() throws(JSON.Failure) -> JSON {
        switch scanner.peek {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "t"):
            try scanner.literal("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try scanner.literal("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try scanner.literal("null")
            return .null
        default: return try scanner.number()
        }
    }

    @inline(__always)
    private mutating func string() throws(JSON.Failure) -> String {
        let text = try scanner.string()
        return try scanner.value(of: text)
    }

    private mutating func array() throws(JSON.Failure) -> [JSON] {
        try enter()
        var elements: [JSON] = []
        if try leave(UInt8(ascii: "]")) { return elements }
        while true {
            elements.append(try value())
            if try next(UInt8(ascii: "]"), "expected ',' or ']'") { return elements }
        }
    }

    private mutating func object() throws(JSON.Failure) -> [JSON.Member] {
        try enter()
        var members: [JSON.Member] = []
        if try leave(UInt8(ascii: "}")) { return members }
        members.reserveCapacity(4)
        var keys = JSONKeys()
        while true {
            guard scanner.peek == UInt8(ascii: "\"") else { throw scanner.failure("expected a key in quotes") }
            let text = try scanner.string()
            let key = try scanner.value(of: text)
            try scanner.colon()
            let value = try value()
            if let index = keys.index(of: key, in: members) {
                members[index].value = value
            } else {
                members.append(JSON.Member(key, value))
            }
            if try next(UInt8(ascii: "}"), "expected ',' or '}'") { return members }
        }
    }

    /// Steps over the opening bracket.
    @inline(__always)
    private mutating func enter() throws(JSON.Failure) {
        guard depth < maxDepth else { throw scanner.tooDeep(maxDepth) }
        depth += 1
        scanner.next += 1
        scanner.skipSpace()
    }

    /// Steps over the closing bracket if it is next.
    @inline(__always)
    private mutating func leave(_ bracket: UInt8) throws(JSON.Failure) -> Bool {
        guard scanner.peek == bracket else { return false }
        scanner.next += 1
        depth -= 1
        return true
    }

    /// Steps over what follows an element: the closing bracket (true) or a comma.
    @inline(__always)
    private mutating func next(_ bracket: UInt8, _ expected: StaticString) throws(JSON.Failure) -> Bool {
        scanner.skipSpace()
        if try leave(bracket) { return true }
        guard scanner.peek == UInt8(ascii: ",") else { throw scanner.failure(expected) }
        scanner.next += 1
        scanner.skipSpace()
        return false
    }
}

/// Finds duplicate keys without comparing each with each.
struct JSONKeys {
    /// One bit per rough likeness of a key: where it is clear, the key is new.
    private var seen: UInt64 = 0
    /// The index of every key once there are many.
    private var indices: [Key: Int] = [:]

    private struct Key: Hashable {
        let string: String

        static func == (one: Key, other: Key) -> Bool { JSON.same(one.string, other.string) }

        // Not String's own hash, which normalises Unicode first.
        func hash(into hasher: inout Hasher) { JSON.withBytes(of: string) { hasher.combine(bytes: $0) } }
    }

    /// Where `key` already is in `members`; nil: it is new, and the caller appends it.
    @inline(__always)
    mutating func index(of key: String, in members: [JSON.Member]) -> Int? {
        guard members.count < 16 else { return indexAmongMany(of: key, in: members) }
        let units = key.utf8
        let shape = units.isEmpty ? 0 : UInt64(units[units.startIndex]) &* 5 &+ UInt64(truncatingIfNeeded: units.count)
        let bit: UInt64 = 1 << (shape & 63)
        defer { seen |= bit }
        return seen & bit == 0 ? nil : members.firstIndex { JSON.same($0.key, key) }
    }

    @inline(never)
    private mutating func indexAmongMany(of key: String, in members: [JSON.Member]) -> Int? {
        if indices.isEmpty {
            for (index, member) in members.enumerated() { indices[Key(string: member.key)] = index }
        }
        if let index = indices[Key(string: key)] { return index }
        indices[Key(string: key)] = members.count
        return nil
    }
}

extension JSON {
    static func withBytes<Result>(of string: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var string = string
        return string.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}
