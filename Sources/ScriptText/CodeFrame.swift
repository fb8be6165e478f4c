/// The lines of a text around a place, as a person reads them on a terminal.
public enum CodeFrame {
    private static let context = 2
    private static let width = 100

    /// - Parameters:
    ///   - line: from 1.
    ///   - column: from 1, in UTF-16 units; nil marks the line only.
    /// - Returns: nil where the text has no such line.
    public static func text(_ text: String, line: Int, column: Int?) -> String? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard line >= 1, line <= lines.count else { return nil }
        let shown = max(1, line - context)...min(lines.count, line + context)
        let digits = String(shown.upperBound).utf8.count
        // A long line is shown from where the place is in sight.
        let cut = max(0, (column ?? 1) - 1 - width * 3 / 4)
        var result: [String] = []
        for number in shown {
            let label = String(number)
            let gutter = String(repeating: " ", count: digits - label.utf8.count) + label
            let content = visible(lines[number - 1], from: cut)
            result.append("\(number == line ? ">" : " ") \(gutter) | \(content)".trimmedEnd)
            if number == line, let column {
                let before = visible(lines[number - 1], from: cut, to: column - 1)
                let blank = String(before.map { $0 == "\t" ? "\t" : " " })
                result.append("  \(String(repeating: " ", count: digits)) | \(blank)^")
            }
        }
        return result.joined(separator: "\n")
    }

    /// A part of a line without what would act on a terminal.
    private static func visible(_ line: Substring, from: Int, to: Int = .max) -> String {
        let units = Array(line.utf16)
        let end = min(units.count, to, from + width)
        guard from < end else { return "" }
        return String(
            String.UnicodeScalarView(
                String(decoding: units[from..<end], as: UTF16.self).unicodeScalars.map { scalar in
                    let isControl =
                        scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
                    return isControl && scalar != "\t" ? "\u{FFFD}" : scalar
                }))
    }
}

extension String {
    fileprivate var trimmedEnd: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
