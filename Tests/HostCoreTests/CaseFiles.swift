import Foundation

/// The tables in `Cases`.
enum Cases {
    static func bytes(_ name: String) throws -> [UInt8] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        return [UInt8](try Data(contentsOf: folder.appendingPathComponent("Cases/\(name)")))
    }
}
