/// Text with structure: a page of the reference, for Markdown and for terminals.
public struct Document: Sendable {
    public enum Block: Sendable {
        case heading(Int, Inline)
        case text(Inline)
        case code(String, language: String)
        case table([String], [[Inline]])
    }

    /// Words and names within a line.
    public struct Inline: Sendable, ExpressibleByStringInterpolation {
        public enum Span: Sendable {
            case text(String)
            case code(String)
            case link(String, to: String)
        }

        public private(set) var spans: [Span]

        public init(_ spans: [Span]) { self.spans = spans }
        public init(_ text: String) { spans = text.isEmpty ? [] : [.text(text)] }
        public init(stringLiteral value: String) { self.init(value) }
        public static func code(_ text: String) -> Inline { Inline([.code(text)]) }
        public static func link(_ text: String, to target: String) -> Inline { Inline([.link(text, to: target)]) }
        public static func + (one: Inline, other: Inline) -> Inline { Inline(one.spans + other.spans) }

        /// Names one after another.
        static func list(_ names: [String]) -> Inline {
            names.enumerated().reduce(Inline("")) { $0 + ($1.offset > 0 ? ", " : "") + .code($1.element) }
        }

        public var isEmpty: Bool { spans.isEmpty }
    }

    public internal(set) var blocks: [Block] = []

    mutating func add(_ block: Block) {
        switch block {
        case .text(let text) where text.isEmpty: break
        case .table(_, let rows) where rows.isEmpty: break
        default: blocks.append(block)
        }
    }
}

// MARK: - Markdown

extension Document {
    /// The page as GitHub's Markdown.
    public var markdown: String {
        blocks.map { block in
            switch block {
            case .heading(let level, let text):
                "\(String(repeating: "#", count: level)) \(text.markdown(inTable: false))\n"
            case .text(let text): "\(text.markdown(inTable: false))\n"
            case .code(let text, let language): "```\(language)\n\(text)\n```\n"
            case .table(let head, let rows):
                "| \(head.joined(separator: " | ")) |\n|\(head.map { _ in " --- |" }.joined())\n"
                    + rows.map { row in "| \(row.map { $0.markdown(inTable: true) }.joined(separator: " | ")) |\n" }
                    .joined()
            }
        }.joined(separator: "\n")
    }
}

extension Document.Inline {
    fileprivate func markdown(inTable: Bool) -> String {
        spans.map { span in
            switch span {
            case .text(let text): Self.escape(text)
            case .link(let text, let target): "[\(Self.escape(text))](\(target))"
            case .code(let text):
                // A table's cells end at a bar, even within code.
                Self.fence(inTable ? text.replacing("|", with: "\\|") : text)
            }
        }.joined()
    }

    /// As many backquotes as the text does not have itself.
    private static func fence(_ text: String) -> String {
        guard text.contains("`") else { return "`\(text)`" }
        return "`` \(text) ``"
    }

    private static func escape(_ text: String) -> String {
        var result = ""
        for character in text {
            if "\\`*_<>[]|#".contains(character) { result.append("\\") }
            result.append(character == "\n" ? " " : character)
        }
        return result
    }
}
