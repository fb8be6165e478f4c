import ApsuleKit

/// The command line, taken apart: `--name value`, `--name=value`, `--flag`, and the rest in order.
struct Options {
    private(set) var words: [String] = []
    private var values: [String: [String]] = [:]
    private var flags: Set<String> = []

    /// - Parameters:
    ///   - taking: options with a value.
    ///   - flags: options without one.
    /// - Throws: `usage.invalid`.
    init(_ arguments: some Sequence<String>, taking: Set<String>, flags known: Set<String>) throws(HostError) {
        let known = known.union(["json", "help"])
        let taking = taking.union(["state", "plugins"])
        var rest = Array(arguments)[...]
        var isOver = false
        while let word = rest.popFirst() {
            guard !isOver, word.hasPrefix("--"), word != "-" else {
                words.append(word)
                continue
            }
            if word == "--" {
                isOver = true
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
                String.init)
            if known.contains(parts[0]), parts.count == 1 {
                flags.insert(parts[0])
            } else if taking.contains(parts[0]) {
                guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    throw HostError("usage.invalid", "--\(parts[0]) needs a value.")
                }
                values[parts[0], default: []].append(value)
            } else {
                let nearest = Suggestions.option(parts[0], known.union(taking))
                throw HostError("usage.invalid", "There is no option --\(parts[0]).\(nearest)")
            }
        }
    }

    func has(_ flag: String) -> Bool { flags.contains(flag) }
    subscript(option: String) -> String? { values[option]?.last }
    func all(_ option: String) -> [String] { values[option] ?? [] }
    var isJSON: Bool { flags.contains("json") }

    /// The next word, or an error that says what is missing.
    func word(_ index: Int, _ name: String) throws(HostError) -> String {
        guard words.indices.contains(index) else { throw HostError("usage.invalid", "\(name) is missing.") }
        return words[index]
    }
}

/// `5s`, `300ms`, `2m`: milliseconds.
enum Duration {
    static func milliseconds(_ text: String) throws(HostError) -> Int {
        for (suffix, factor) in [("ms", 1.0), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]
        where text.hasSuffix(suffix) {
            if let number = Double(text.dropLast(suffix.count)), number >= 0, number * factor < 1e12 {
                return Int(number * factor)
            }
        }
        throw HostError("usage.invalid", "\(text) is no duration: 500ms, 5s, 2m.")
    }
}
