public import ApsuleKit

/// A source map of version 3: from positions in a bundle to positions in the files it was made of.
///
/// Source: <https://tc39.es/ecma426/>
public struct SourceMap: Sendable {
    private struct Segment {
        var column: Int32, source: Int32, line: Int32, original: Int32
    }

    private let sources: [String]
    private var contents: [String?]
    /// Characters that one file had before its own on its first line.
    private var indents: [String: Int] = [:]
    /// The segments of each line of the bundle, by column.
    private let lines: [[Segment]]

    /// - Throws: `script.invalid_source_map`.
    public init(_ json: JSON, path: (String) -> String = { $0 }) throws(HostError) {
        guard json["version"]?.intValue == 3, let mappings = json["mappings"]?.stringValue else {
            throw HostError("script.invalid_source_map", "The source map is not of version 3.")
        }
        sources = (json["sources"]?.arrayValue ?? []).map { path($0.stringValue ?? "") }
        contents = (json["sourcesContent"]?.arrayValue ?? []).map(\.stringValue)
        lines = try Self.decode(mappings, sources: sources.count)
    }

    /// Where a position of the bundle comes from; lines and columns from 1.
    public func original(line: Int, column: Int) -> (file: String, line: Int, column: Int)? {
        guard lines.indices.contains(line - 1) else { return nil }
        let segments = lines[line - 1]
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].column < column { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        let segment = segments[low - 1]
        guard segment.source >= 0 else { return nil }
        let file = sources[Int(segment.source)]
        let indent = segment.line == 0 ? indents[file] ?? 0 : 0
        return (file, Int(segment.line) + 1, max(0, Int(segment.original) - indent) + 1)
    }

    /// Says what a file's text is without what was put before it on its first line.
    mutating func replace(_ file: String, content: String, indent: Int) {
        guard let index = sources.firstIndex(of: file), contents.indices.contains(index) else { return }
        contents[index] = content
        indents[file] = indent
    }

    /// The text of a file the bundle was made of.
    public func content(of file: String) -> String? {
        guard let index = sources.firstIndex(of: file), contents.indices.contains(index) else { return nil }
        return contents[index]
    }

    private static func decode(_ mappings: String, sources: Int) throws(HostError) -> [[Segment]] {
        var lines: [[Segment]] = [[]]
        // Column, source, line, column there: each a difference to the one before.
        var state: [Int] = [0, 0, 0, 0, 0]
        var field = 0
        var value = 0
        var shift = 0
        func end() {
            if field == 1 || field >= 4 {
                let known = field >= 4 && state[1] >= 0 && state[1] < sources
                lines[lines.count - 1].append(
                    Segment(
                        column: Int32(clamping: state[0]), source: known ? Int32(clamping: state[1]) : -1,
                        line: Int32(clamping: state[2]), original: Int32(clamping: state[3])))
            }
            field = 0
        }
        for byte in mappings.utf8 {
            switch byte {
            case UInt8(ascii: ","): end()
            case UInt8(ascii: ";"):
                end()
                lines.append([])
                state[0] = 0
            default:
                guard let digit = digit(byte), field < 5, shift <= 30 else {
                    throw HostError("script.invalid_source_map", "The source map's mappings are malformed.")
                }
                value |= (digit & 31) << shift
                shift += 5
                if digit & 32 == 0 {
                    state[field] += value & 1 == 1 ? -(value >> 1) : value >> 1
                    (field, value, shift) = (field + 1, 0, 0)
                }
            }
        }
        end()
        return lines
    }

    private static func digit(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) + 4
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
