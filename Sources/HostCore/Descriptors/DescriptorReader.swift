import ApsuleKit

/// Reads typed values out of a descriptor, with errors that name the file, key, value and rule.
struct DescriptorReader {
    let json: JSON
    let file: String
    private let path: String

    init(_ json: JSON, file: String) throws(HostError) { try self.init(json, file: file, path: "") }

    private init(_ json: JSON, file: String, path: String) throws(HostError) {
        guard json.members != nil else { throw Self.invalid(file, path, json, "must be an object") }
        (self.json, self.file, self.path) = (json, file, path)
    }

    static func invalid(_ file: String, _ key: String, _ value: JSON, _ rule: String) -> HostError {
        HostError(
            "descriptor.invalid", "\(file.isEmpty ? "descriptor" : file): \(key) \(rule)",
            details: ["file": .string(file), "key": .string(key), "value": value, "rule": .string(rule)])
    }

    private func join(_ key: String) -> String { key.isEmpty ? path : path.isEmpty ? key : "\(path).\(key)" }

    func error(_ key: String, _ rule: String) -> HostError {
        Self.invalid(file, join(key), key.isEmpty ? .null : json[key] ?? .null, rule)
    }

    func child(_ key: String) throws(HostError) -> DescriptorReader {
        try DescriptorReader(json[key] ?? .null, file: file, path: join(key))
    }

    /// One element of an array.
    func element(_ key: String, _ index: Int) throws(HostError) -> DescriptorReader {
        try DescriptorReader(json[key]?[index] ?? .null, file: file, path: "\(join(key))[\(index)]")
    }

    func string(_ key: String) throws(HostError) -> String {
        guard let value = json[key]?.stringValue, !value.isEmpty else {
            throw error(key, "must be a string that is not empty")
        }
        return value
    }

    func optionalString(_ key: String, oneOf allowed: [String]? = nil) throws(HostError) -> String? {
        guard json[key] != nil else { return nil }
        let value = try string(key)
        if let allowed, !allowed.contains(value) {
            throw error(key, "must be one of \(allowed.joined(separator: ", "))")
        }
        return value
    }

    func integer(_ key: String) throws(HostError) -> Int {
        guard let value = json[key]?.intValue else { throw error(key, "must be an integer") }
        return Int(value)
    }

    func flag(_ key: String) throws(HostError) -> Bool {
        guard let value = json[key] else { return false }
        guard let flag = value.boolValue else { throw error(key, "must be true or false") }
        return flag
    }

    func array(_ key: String) throws(HostError) -> [JSON] {
        guard let value = json[key] else { return [] }
        guard let values = value.arrayValue else { throw error(key, "must be an array") }
        return values
    }

    func strings(_ key: String) throws(HostError) -> [String] {
        var strings: [String] = []
        for value in try array(key) {
            guard let text = value.stringValue else { throw error(key, "must hold strings only") }
            strings.append(text)
        }
        return strings
    }

    func members(_ key: String, optional: Bool = false) throws(HostError) -> [JSON.Member] {
        guard let value = json[key] else {
            if optional { return [] }
            throw error(key, "is missing")
        }
        guard let members = value.members else { throw error(key, "must be an object") }
        return members
    }

    func choice<T: RawRepresentable & Sendable>(_ key: String, _: T.Type) throws(HostError) -> T?
    where T.RawValue == String {
        guard json[key] != nil else { return nil }
        guard let value = T(rawValue: try string(key)) else { throw error(key, "has a value that is not known") }
        return value
    }

    /// Refuses keys that the format does not have; `x-…` is everybody's.
    func allowOnly(_ keys: Set<String>) throws(HostError) {
        for member in json.members ?? [] where !keys.contains(member.key) && !member.key.hasPrefix("x-") {
            throw error(member.key, "is not a key of this format")
        }
    }
}
