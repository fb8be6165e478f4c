/// Keys that start with `$` belong to the host: `{"$blob": 0}` stands for binary data. In data of callers and services
/// such a key has one `$` more on its way, which the bridge to JavaScript puts there and takes off.
extension JSON {
    /// JSON from elsewhere, fit to be returned.
    ///
    /// For whatever a family hands on without looking at it: a server's answer, a stored value, a token's payload.
    public var escaped: JSON { hasDollarKey ? mapKeys { $0.startsWithDollar ? "$" + $0 : $0 } : self }

    private var hasDollarKey: Bool {
        switch self {
        case .array(let elements): elements.contains(where: \.hasDollarKey)
        case .object(let members): members.contains { $0.key.startsWithDollar || $0.value.hasDollarKey }
        default: false
        }
    }

    private var hasBlob: Bool {
        switch self {
        case .array(let elements): elements.contains(where: \.hasBlob)
        case .object(let members): members.contains { JSON.same($0.key, "$blob") || $0.value.hasBlob }
        default: false
        }
    }

    private func mapKeys(_ change: (String) -> String) -> JSON {
        switch self {
        case .array(let elements): .array(elements.map { $0.mapKeys(change) })
        case .object(let members): .object(members.map { .init(change($0.key), $0.value.mapKeys(change)) })
        default: self
        }
    }

    /// An argument as the caller wrote it, for a family that keeps it or sends it on; nil where it holds binary data.
    fileprivate var unescaped: JSON? {
        guard hasDollarKey else { return self }
        guard !hasBlob else { return nil }
        return mapKeys { $0.utf8.starts(with: [0x24, 0x24]) ? String($0.dropFirst()) : $0 }
    }
}

extension Arguments {
    /// The value as the caller wrote it, to be kept or sent on: any JSON.
    ///
    /// - Throws: `host.invalid_argument` where binary data stands in it, which JSON cannot carry.
    public func data() throws(HostError) -> JSON {
        guard let value = json.unescaped else { throw mismatch("JSON; encode binary data as Base64") }
        return value
    }
}

extension String {
    fileprivate var startsWithDollar: Bool { utf8.first == UInt8(ascii: "$") }
}
