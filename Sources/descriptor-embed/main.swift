import Foundation

// Writes Manifests/<family>.json as a constant in the ELF section `apsule_family`. A Swift array literal there may have
// at most 4096 elements, which gives pieces of 32 KiB; the reader takes them in link order, as one section.
var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1])))
while bytes.count % 8 != 0 { bytes.append(0) }
let words = stride(from: 0, to: bytes.count, by: 8).map { start in
    "0x" + String(bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, radix: 16)
}
let pieces = stride(from: 0, to: words.count, by: 4096).map { words[$0..<min($0 + 4096, words.count)] }
let text = pieces.enumerated().map { index, piece in
    """
    @section("apsule_family") @used
    private let descriptor\(index): [\(piece.count) of UInt64] = [\(piece.joined(separator: ", "))]

    """
}
try Data(text.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: CommandLine.arguments[2]))
