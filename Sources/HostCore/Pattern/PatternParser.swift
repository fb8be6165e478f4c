indirect enum PatternNode {
    case step(Pattern.Step)
    case sequence([PatternNode])
    case choice([PatternNode])
    case repetition(PatternNode, minimum: Int, maximum: Int?)
}

/// Reads the syntax of a pattern.
struct PatternParser {
    private let source: [Unicode.Scalar]
    private var next = 0
    private var depth = 0

    init(_ source: String) { self.source = Array(source.unicodeScalars) }

    mutating func parse() throws(Pattern.Failure) -> PatternNode {
        let node = try choice()
        if next < source.count { throw failure("has a ) without (") }
        return node
    }

    private func failure(_ reason: String) -> Pattern.Failure { Pattern.Failure(reason: reason, offset: next) }

    private var peek: Unicode.Scalar? { next < source.count ? source[next] : nil }

    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == scalar else { return false }
        next += 1
        return true
    }

    private mutating func choice() throws(Pattern.Failure) -> PatternNode {
        var nodes = [try sequence()]
        while skip("|") { nodes.append(try sequence()) }
        return nodes.count == 1 ? nodes[0] : .choice(nodes)
    }

    private mutating func sequence() throws(Pattern.Failure) -> PatternNode {
        var nodes: [PatternNode] = []
        while let scalar = peek, scalar != "|", scalar != ")" {
            let isAssertion = scalar == "^" || scalar == "$" || isBoundary
            let node = try atom()
            guard let (minimum, maximum) = try quantifier() else {
                nodes.append(node)
                continue
            }
            if isAssertion { throw failure("repeats what takes no character") }
            nodes.append(.repetition(node, minimum: minimum, maximum: maximum))
        }
        return .sequence(nodes)
    }

    private var isBoundary: Bool {
        peek == "\\" && next + 1 < source.count && "bB".unicodeScalars.contains(source[next + 1])
    }

    private mutating func atom() throws(Pattern.Failure) -> PatternNode {
        switch peek {
        case "(": return try group()
        case "[": return .step(.take(try characterClass()))
        case "*", "+", "?", "{": throw failure("has nothing to repeat")
        case "}", "]": throw failure("has a bracket that needs a backslash")
        default: break
        }
        if skip("^") { return .step(.start) }
        if skip("$") { return .step(.end) }
        if skip(".") { return .step(.take(Scalars(Scalars.lineEnds, inverted: true))) }
        if isBoundary {
            next += 2
            return .step(.boundary(source[next - 1] == "b"))
        }
        return .step(.take(Scalars(try member(inClass: false))))
    }

    private mutating func group() throws(Pattern.Failure) -> PatternNode {
        next += 1
        if skip("?"), !skip(":") { throw failure("has a group other than (…) and (?:…)") }
        depth += 1
        guard depth <= 32 else { throw failure("nests more than 32 groups") }
        defer { depth -= 1 }
        let node = try choice()
        guard skip(")") else { throw failure("has a ( without )") }
        return node
    }

    // MARK: Repetition

    private mutating func quantifier() throws(Pattern.Failure) -> (minimum: Int, maximum: Int?)? {
        let range: (minimum: Int, maximum: Int?)
        if skip("*") {
            range = (0, nil)
        } else if skip("+") {
            range = (1, nil)
        } else if skip("?") {
            range = (0, 1)
        } else if skip("{") {
            range = try count()
        } else {
            return nil
        }
        _ = skip("?")  // lazy or not, the same texts match
        return range
    }

    private mutating func count() throws(Pattern.Failure) -> (minimum: Int, maximum: Int?) {
        guard let minimum = number() else { throw failure("has a { that needs a number or a backslash") }
        var maximum: Int? = minimum
        if skip(",") { maximum = number() }
        guard skip("}") else { throw failure("has a { without }") }
        if let maximum, maximum < minimum { throw failure("repeats at most fewer times than at least") }
        guard max(minimum, maximum ?? 0) <= Pattern.largestProgram else {
            throw failure("repeats more than \(Pattern.largestProgram) times")
        }
        return (minimum, maximum)
    }

    private mutating func number() -> Int? {
        var value: Int?
        while let scalar = peek, "0"..."9" ~= scalar {
            value = min((value ?? 0) * 10 + Int(scalar.value - 0x30), 1_000_000)
            next += 1
        }
        return value
    }

    // MARK: Characters

    private mutating func characterClass() throws(Pattern.Failure) -> Scalars {
        next += 1
        let isInverted = skip("^")
        var ranges: [ClosedRange<UInt32>] = []
        while !skip("]") {
            guard peek != nil else { throw failure("has a [ without ]") }
            let first = try member(inClass: true)
            guard peek == "-", next + 1 < source.count, source[next + 1] != "]" else {
                ranges += first
                continue
            }
            next += 1
            let last = try member(inClass: true)
            guard first.count == 1, last.count == 1, first[0].count == 1, last[0].count == 1,
                first[0].lowerBound <= last[0].lowerBound
            else { throw failure("has a range that is none") }
            ranges.append(first[0].lowerBound...last[0].lowerBound)
        }
        return Scalars(ranges, inverted: isInverted)
    }

    /// One character, or the set that an escape names.
    private mutating func member(inClass: Bool) throws(Pattern.Failure) -> [ClosedRange<UInt32>] {
        guard let scalar = peek else { throw failure("ends early") }
        next += 1
        guard scalar == "\\" else { return [scalar.value...scalar.value] }
        guard let escape = peek else { throw failure("ends with a backslash") }
        next += 1
        switch escape {
        case "d": return Scalars.digits
        case "D": return Scalars.inverted(Scalars.digits)
        case "w": return Scalars.words
        case "W": return Scalars.inverted(Scalars.words)
        case "s": return Scalars.spaces
        case "S": return Scalars.inverted(Scalars.spaces)
        default:
            let value = try escaped(escape, inClass: inClass)
            return [value...value]
        }
    }

    private mutating func escaped(_ escape: Unicode.Scalar, inClass: Bool) throws(Pattern.Failure) -> UInt32 {
        switch escape {
        case "t": return 0x09
        case "n": return 0x0A
        case "v": return 0x0B
        case "f": return 0x0C
        case "r": return 0x0D
        case "b" where inClass: return 0x08
        case "0":
            if let digit = peek, "0"..."9" ~= digit { throw failure("has an octal escape") }
            return 0
        case "c":
            guard let letter = peek, letter.isASCII, letter.properties.isAlphabetic else {
                throw failure("has \\c without a letter")
            }
            next += 1
            return letter.value % 32
        case "x": return try hexadecimal(2)
        case "u": return try unicode()
        case "1"..."9", "k": throw failure("has a back-reference, which needs backtracking")
        case "p", "P": throw failure("has \\\(escape), which is not supported")
        default:
            guard "^$\\.*+?()[]{}|/-".unicodeScalars.contains(escape) else {
                throw failure("has the unknown escape \\\(escape)")
            }
            return escape.value
        }
    }

    private mutating func unicode() throws(Pattern.Failure) -> UInt32 {
        if skip("{") {
            let start = next
            while let scalar = peek, scalar != "}" {
                guard scalar.properties.isASCIIHexDigit, next - start < 6 else {
                    throw failure("has a \\u{…} that is none")
                }
                next += 1
            }
            let text = String(String.UnicodeScalarView(source[start..<next]))
            guard skip("}"), let value = UInt32(text, radix: 16), Unicode.Scalar(value) != nil else {
                throw failure("has a \\u{…} that is none")
            }
            return value
        }
        let first = try hexadecimal(4)
        guard 0xD800..<0xDC00 ~= first, skip("\\"), skip("u") else { return first }
        let second = try hexadecimal(4)
        guard 0xDC00..<0xE000 ~= second else { throw failure("has half of a surrogate pair") }
        return 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
    }

    private mutating func hexadecimal(_ count: Int) throws(Pattern.Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let scalar = peek, scalar.properties.isASCIIHexDigit, let digit = Character(scalar).hexDigitValue
            else {
                throw failure("has an escape with too few digits")
            }
            value = value << 4 | UInt32(digit)
            next += 1
        }
        return value
    }
}
