/// The names of hosts in one spelling: lower case, ASCII, international ones in Punycode.
///
/// Two spellings of one host may come out as different names, and one that is not sure is refused; but never do two hosts
/// come out as one name. So what is compared with a name that a person approved is never somebody else.
enum HostName {
    /// Nil for what is no name of a host.
    ///
    /// Source: <https://www.rfc-editor.org/rfc/rfc5891#section-4>
    static func canonical(_ text: String) -> String? {
        var labels: [String] = []
        for label in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard let ascii = ascii(String(label)), 1...63 ~= ascii.utf8.count else { return nil }
            labels.append(ascii)
        }
        let name = labels.joined(separator: ".")
        return name.utf8.count <= 253 ? name : nil
    }

    private static func ascii(_ label: String) -> String? {
        if label.utf8.allSatisfy({ $0 < 0x80 }) {
            let isName = label.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
            return isName ? label.lowercased() : nil
        }
        let lower = label.lowercased()
        // What ẞ stands for, ß or ss, depends on the age of whoever resolves the name.
        guard lower.unicodeScalars.allSatisfy(isPlain), !label.unicodeScalars.contains("ẞ") else { return nil }
        return "xn--" + Punycode.encode(Array(lower.unicodeScalars))
    }

    /// Whether IDNA leaves a character as it is.
    ///
    /// Compatibility forms (full-width digits, ligatures), ignored characters and joiners stand for something else, which
    /// a resolver puts in their place.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII {
            return UInt8(ascii: scalar).isLetterOrDigit || scalar == "-"
        }
        // ß and final σ fold to others, but not in names.
        if scalar == "ß" || scalar == "ς" { return true }
        guard !scalar.properties.changesWhenNFKCCaseFolded else { return false }
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber: return true
        default: return false
        }
    }
}

/// Unicode in ASCII letters, as names of hosts carry it.
///
/// Source: <https://www.rfc-editor.org/rfc/rfc3492#section-6.3>
enum Punycode {
    static func encode(_ scalars: [Unicode.Scalar]) -> String {
        var output = scalars.filter(\.isASCII).map { UInt8(ascii: $0) }
        let basic = output.count
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        var (done, last, delta, bias) = (basic, 0x80, 0, 72)
        while done < scalars.count {
            let next = scalars.map { Int($0.value) }.filter { $0 >= last }.min() ?? 0
            delta += (next - last) * (done + 1)
            last = next
            for scalar in scalars.map({ Int($0.value) }) {
                if scalar < last { delta += 1 }
                guard scalar == last else { continue }
                append(delta, bias, to: &output)
                bias = adapt(delta, done + 1, isFirst: done == basic)
                delta = 0
                done += 1
            }
            delta += 1
            last += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func append(_ delta: Int, _ bias: Int, to output: inout [UInt8]) {
        var (rest, place) = (delta, 36)
        while true {
            let threshold = min(26, max(1, place - bias))
            guard rest >= threshold else { return output.append(digit(rest)) }
            output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            place += 36
        }
    }

    private static func digit(_ value: Int) -> UInt8 {
        value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "0") + UInt8(value - 26)
    }

    private static func adapt(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var steps = 0
        while delta > 455 {
            delta /= 35
            steps += 36
        }
        return steps + 36 * delta / (delta + 38)
    }
}
