/// Columns that text takes on a terminal.
extension Output {
    /// Text of which every control character was escaped before.
    static func width(of text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + columns($1) } }

    /// Fills up with blanks.
    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - Self.width(of: text)))
    }

    /// Cuts at a number of columns; an ellipsis says so.
    static func cut(_ text: String, _ width: Int) -> String {
        guard Self.width(of: text) > width else { return text }
        var result = String.UnicodeScalarView()
        var used = 0
        for scalar in text.unicodeScalars {
            used += columns(scalar)
            if used > width - 1 { break }
            result.append(scalar)
        }
        return width > 0 ? String(result) + (isUnicode ? "…" : "~") : ""
    }

    /// East Asian wide and fullwidth characters.
    ///
    /// Source: <https://www.unicode.org/reports/tr11/>
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xa000...0xa4cf,
        0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x2_0000...0x3_fffd,
    ]

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: return scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }
}
