/// Whether a script uses what only a bundler gives it: TypeScript, `import`, `export`, `import.meta`.
///
/// A look at the words outside comments, strings, templates and regular expressions, not a parse: what it takes for
/// a module by mistake still runs, bundled.
struct ModuleSyntax {
    private let bytes: [UInt8]
    private var index = 0
    /// The last character of meaning, which says whether a `/` divides or begins a regular expression.
    private var before: UInt8 = UInt8(ascii: ";")
    private var word = ""
    /// For each open brace: whether it belongs to `${` of a template.
    private var braces: [Bool] = []

    static func isNeeded(path: String, source: String) -> Bool {
        let name = path.lowercased()
        if [".ts", ".mts", ".cts", ".tsx", ".jsx", ".mjs"].contains(where: name.hasSuffix) { return true }
        guard source.contains("import") || source.contains("export") else { return false }
        var syntax = ModuleSyntax(bytes: Array(source.utf8))
        return syntax.find()
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private func peek(_ offset: Int = 0) -> UInt8 { index + offset < bytes.count ? bytes[index + offset] : 0 }

    private mutating func find() -> Bool {
        if bytes.starts(with: "#!".utf8) { skipLine() }
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"): skipLine()
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): skipComment()
            case UInt8(ascii: "/") where beginsExpression: skipExpression()
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                skipString(byte)
                note(byte)
            case UInt8(ascii: "`"):
                index += 1
                skipTemplate()
            case UInt8(ascii: "{"):
                braces.append(false)
                index += 1
                note(byte)
            case UInt8(ascii: "}"):
                index += 1
                if braces.popLast() == true { skipTemplate() } else { note(byte) }
            case _ where isWordByte(byte): if takeWord() { return true }
            case 0x00...0x20: index += 1
            default:
                index += 1
                note(byte)
            }
        }
        return false
    }

    private mutating func note(_ byte: UInt8) { (before, word) = (byte, "") }

    private func isWordByte(_ byte: UInt8) -> Bool {
        byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
            || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || byte >= 0x80
    }

    /// Takes a word; true where it is one of a module's.
    private mutating func takeWord() -> Bool {
        let start = index
        while index < bytes.count, isWordByte(bytes[index]) { index += 1 }
        let isMember = before == UInt8(ascii: ".")
        word = String(decoding: bytes[start..<index], as: UTF8.self)
        before = UInt8(ascii: "a")
        guard !isMember, word == "import" || word == "export" else { return false }
        var next = index
        while next < bytes.count, bytes[next] <= 0x20 { next += 1 }
        let after = next < bytes.count ? bytes[next] : 0
        // Otherwise a property's name, a label or a method.
        let isName = [UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ")")]
            .contains(after)
        return word == "import"
            ? !isName : !isName && after != UInt8(ascii: "(") && after != UInt8(ascii: ".") && after != 0
    }

    private var beginsExpression: Bool {
        switch before {
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: "\""), UInt8(ascii: "'"),
            UInt8(ascii: "`"):
            false
        case UInt8(ascii: "a"):
            ["return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else", "await", "yield"]
                .contains(word)
        default: true
        }
    }

    private mutating func skipLine() {
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
    }

    private mutating func skipComment() {
        index += 2
        while index < bytes.count, !(bytes[index] == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) { index += 1 }
        index += 2
    }

    private mutating func skipString(_ quote: UInt8) {
        index += 1
        while index < bytes.count, bytes[index] != quote, bytes[index] != UInt8(ascii: "\n") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        index += 1
    }

    /// From within a template's text to its end, or to an expression in it.
    private mutating func skipTemplate() {
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\\"): index += 2
            case UInt8(ascii: "`"):
                index += 1
                return note(UInt8(ascii: "`"))
            case UInt8(ascii: "$") where peek(1) == UInt8(ascii: "{"):
                index += 2
                braces.append(true)
                return note(UInt8(ascii: "{"))
            default: index += 1
            }
        }
    }

    private mutating func skipExpression() {
        var isInClass = false
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
            switch bytes[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "["): isInClass = true
            case UInt8(ascii: "]"): isInClass = false
            case UInt8(ascii: "/") where !isInClass:
                index += 1
                return note(UInt8(ascii: ")"))
            default: break
            }
            index += 1
        }
        note(UInt8(ascii: ")"))
    }
}
