import Glibc
import HostCore

/// A page of the reference on a terminal, or as plain text where there is none.
enum TerminalDocument {
    static func show(_ document: Document) {
        let width = min(Output.width ?? 80, 120)
        for (index, block) in document.blocks.enumerated() {
            if index > 0 { Output.line("") }
            switch block {
            case .heading(_, let text): Output.line(Output.bold(plain(text)))
            case .text(let text): for line in wrap(plain(text), width) { Output.line(line) }
            case .code(let text, _):
                for line in text.split(separator: "\n") {
                    Output.line("    \(Output.colour(escape(String(line)), 36))")
                }
            case .table(let head, let rows): table(head, rows, width)
            }
        }
    }

    /// Short cells side by side, the last one wrapped beside them.
    private static func table(_ head: [String], _ rows: [[Document.Inline]], _ width: Int) {
        let cells = rows.map { $0.map(plain) }
        let last = head.count - 1
        let widths = (0..<last).map { column in
            min(max(head[column].count, cells.map { $0[column].count }.max() ?? 0), 28)
        }
        Output.line(Output.dim(zip(head, widths + [0]).map { pad($0, $1) }.joined(separator: "  ")))
        let indent = widths.reduce(0) { $0 + $1 + 2 }
        for row in cells {
            var line = ""
            for column in 0..<last {
                // What is too long for its column pushes the rest of the row to the next line.
                line += pad(row[column], widths[column]) + "  "
            }
            let isWide = zip(row, widths).contains { $0.count > $1 }
            let room = max(24, width - indent)
            let text = wrap(row[last], room)
            while line.last == " ", isWide || text.isEmpty { line.removeLast() }
            if isWide {
                Output.line(line)
                for part in text { Output.line(String(repeating: " ", count: indent) + part) }
            } else {
                Output.line(line + (text.first ?? ""))
                for part in text.dropFirst() { Output.line(String(repeating: " ", count: indent) + part) }
            }
        }
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func plain(_ text: Document.Inline) -> String {
        text.spans.map { span in
            switch span {
            case .text(let text), .code(let text): escape(text)
            case .link(let text, _): escape(text)
            }
        }.joined()
    }

    private static func escape(_ text: String) -> String { SafeText.escape(text, limit: 20_000) }

    private static func wrap(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty ? lines : lines + [line]
    }
}
