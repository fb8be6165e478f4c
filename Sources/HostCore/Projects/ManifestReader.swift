import ApsuleKit

/// Reads values of an `app.json`, with errors that name the line.
struct ManifestReader {
    let json: JSON
    let file: String
    private let source: [UInt8]

    init(_ json: JSON, file: String, source: [UInt8]) { (self.json, self.file, self.source) = (json, file, source) }

    func error(_ code: String, _ key: String, _ rule: String, extra: [JSON.Member] = []) -> HostError {
        let line = line(of: key)
        var details: JSON = [
            "file": .string(file), "line": .int(Int64(line)), "key": .string(key), "rule": .string(rule),
        ]
        for member in extra { details.set(member.key, member.value) }
        return HostError(code, "\(file):\(line): \(key.isEmpty ? "the manifest" : key) \(rule)", details: details)
    }

    func string(_ key: String) throws(HostError) -> String {
        guard let value = json[key]?.stringValue, !value.isEmpty else {
            throw error("manifest.invalid", key, "must be a string that is not empty")
        }
        return value
    }

    /// The members of an object, none where the key is missing.
    func members(_ key: String) throws(HostError) -> [JSON.Member] {
        guard let value = json[key] else { return [] }
        guard let members = value.members else { throw error("manifest.invalid", key, "must be an object") }
        return members
    }

    /// A list of strings under `group.key`, empty where it is missing.
    func strings(_ group: String, _ key: String) throws(HostError) -> [String] {
        guard let value = json[group]?[key] else { return [] }
        guard let values = value.arrayValue, values.allSatisfy({ $0.stringValue != nil }) else {
            throw error("manifest.invalid", "\(group).\(key)", "must be a list of strings")
        }
        return values.compactMap(\.stringValue)
    }

    func bounded(_ group: String, _ key: String, _ range: ClosedRange<Int>) throws(HostError) -> Int? {
        guard let value = json[group]?[key] else { return nil }
        guard let number = value.intValue, range.contains(Int(number)) else {
            throw error("manifest.invalid", "\(group).\(key)", "must be \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(number)
    }

    /// Warnings for keys of `json[group]`, or of the manifest itself, that are not known; they are ignored.
    func unknown(_ group: String?, _ known: Set<String>) -> [String] {
        let members = (group.map { json[$0] ?? .null } ?? json).members ?? []
        return members.map(\.key).filter { !known.contains($0) && !$0.hasPrefix("x-") }.prefix(20).map { key in
            let path = group.map { "\($0).\(key)" } ?? key
            if path == "settings" {
                return
                    "\(file):\(line(of: path)): settings is ignored: settings of families are the owner's, in policy.json"
            }
            let nearest = Suggestion.nearest(to: key, among: known.sorted()).map { ", did you mean \($0)?" } ?? ""
            return "\(file):\(line(of: path)): unknown key \(SafeText.escape(path)) is ignored\(nearest)"
        }
    }

    /// The line of a key, its path taken part by part; of the first part that the text does not hold literally, the line
    /// of what is before it.
    private func line(of key: String) -> Int {
        var place = source.startIndex
        for part in key.split(separator: ".") {
            guard let next = find(Array("\"\(part)\"".utf8), from: place) else { break }
            place = next
        }
        return source[..<place].count { $0 == 0x0a } + 1
    }

    /// The end of the first `"key"` that a colon follows.
    private func find(_ wanted: [UInt8], from start: Int) -> Int? {
        guard source.count >= start + wanted.count else { return nil }
        for place in start...(source.count - wanted.count)
        where source[place..<place + wanted.count].elementsEqual(wanted) {
            let end = place + wanted.count
            let rest = source[end...].first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }
            if rest == UInt8(ascii: ":") { return end }
        }
        return nil
    }
}
