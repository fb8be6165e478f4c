import ApsuleKit

/// Reads values of an `app.json`, with errors that name the line.
struct ManifestReader {
    let json: JSON
    let file: String
    private let source: [UInt8]

    init(_ json: JSON, file: String, source: [UInt8]) { (self.json, self.file, self.source) = (json, file, source) }

    func error(_ code: String, _ key: String, _ rule: String, extra: [JSON.Member] = []) -> HostError {
        let line = line(of: key)
        var details: JSON = ["file": .string(file), "line": .int(Int64(line)), "key": .string(key), "rule": .string(rule)]
        for member in extra { details.set(member.key, member.value) }
        return HostError(code, "\(file):\(line): \(key.isEmpty ? "the manifest" : key) \(rule)", details: details)
    }

    func string(_ key: String) throws(HostError) -> String {
        guard let value = json[key]?.stringValue, !value.isEmpty else {
            throw error("manifest.invalid", key, "must be a string that is not empty")
        }
        return value
    }

    func bounded(_ group: String, _ key: String, _ range: ClosedRange<Int>) throws(HostError) -> Int? {
        guard let value = json[group]?[key] else { return nil }
        guard let number = value.intValue, range.contains(Int(number)) else {
            throw error("manifest.invalid", "\(group).\(key)", "must be \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(number)
    }

    /// The line of the first `"key":`; the last part of a dotted key.
    private func line(of key: String) -> Int {
        guard let last = key.split(separator: ".").last else { return 1 }
        let wanted = Array("\"\(last)\"".utf8)
        guard source.count >= wanted.count else { return 1 }
        for start in 0...(source.count - wanted.count) where source[start..<start + wanted.count].elementsEqual(wanted) {
            let rest = source[(start + wanted.count)...].first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }
            if rest == UInt8(ascii: ":") { return source[..<start].count { $0 == 0x0a } + 1 }
        }
        return 1
    }
}
