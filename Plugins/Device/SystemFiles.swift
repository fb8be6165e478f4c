import Glibc

/// The small text files in which the kernel and the distribution describe a machine.
struct SystemFiles: Sendable {
    /// Another root for tests.
    var root = ""

    private static let greatestFile = 64 * 1024

    /// A file's text without white space and zero bytes at the ends; nil where it is not there, not readable or empty.
    func text(_ path: String) -> String? {
        let descriptor = open("\(root)/\(path)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count < Self.greatestFile {
            let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
            }
            if chunk.isEmpty { break }
            bytes += chunk
        }
        let isBlank: (UInt8) -> Bool = { $0 <= 0x20 }
        let trimmed = bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        return trimmed.isEmpty ? nil : String(decoding: Array(trimmed), as: UTF8.self)
    }

    func number(_ path: String) -> Double? { text(path).flatMap(Double.init) }

    /// The names in a folder, sorted; empty where it is not there.
    func names(_ path: String) -> [String] {
        guard let folder = opendir("\(root)/\(path)") else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// Where a symbolic link points.
    func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let count = readlink("\(root)/\(path)", base, buffer.count)
            return count <= 0 ? nil : String(decoding: UnsafeRawBufferPointer(start: base, count: count), as: UTF8.self)
        }
    }

    /// The assignments of a shell-like file such as os-release; empty where it is not there.
    ///
    /// Source: <https://www.freedesktop.org/software/systemd/man/latest/os-release.html>
    func variables(_ path: String) -> [String: String] {
        var variables: [String: String] = [:]
        for line in (text(path) ?? "").split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !line.hasPrefix("#") else { continue }
            let value = Self.unquoted(parts[1])
            if !value.isEmpty { variables[String(parts[0])] = value }
        }
        return variables
    }

    private static func unquoted(_ text: Substring) -> String {
        guard let quote = text.first, quote == "\"" || quote == "'", text.count >= 2, text.last == quote else {
            return String(text)
        }
        var value = ""
        var isEscaped = false
        for character in text.dropFirst().dropLast() {
            if character == "\\", quote == "\"", !isEscaped {
                isEscaped = true
            } else {
                value.append(character)
                isEscaped = false
            }
        }
        return value
    }
}
