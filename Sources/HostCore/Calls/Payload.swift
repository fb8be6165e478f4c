public import ApsuleKit

/// JSON bytes and the blobs beside them: what crosses between caller, host and plugin.
///
/// Not parsed on the fast path.
public struct Payload: Sendable {
    public var json: [UInt8]
    public var blobs: [Blob]

    public init(json: [UInt8], blobs: [Blob] = []) {
        self.json = json
        self.blobs = blobs
    }

    public init(_ json: JSON, blobs: [Blob] = []) { self.init(json: json.bytes, blobs: blobs) }

    public static let null = Payload(json: Array("null".utf8))
    public static let emptyObject = Payload(json: Array("{}".utf8))

    /// The parsed JSON, or nil for what is no JSON.
    public var value: JSON? { try? JSON(parsing: json) }

    /// The value with its blobs as Base64 text and `$`-escaped keys undone: for a person, a log, a recording.
    ///
    /// nil for what is no JSON.
    public func inlined() -> JSON? { value.map { Self.inline($0, blobs) } }

    private static func inline(_ value: JSON, _ blobs: [Blob]) -> JSON {
        switch value {
        case .array(let values): return .array(values.map { inline($0, blobs) })
        case .object(let members):
            if let index = value.blobIndex, blobs.indices.contains(index) {
                return .string(blobs[index].withBytes { Base64.encode($0) })
            }
            return .object(
                members.map {
                    .init($0.key.hasPrefix("$$") ? String($0.key.dropFirst()) : $0.key, inline($0.value, blobs))
                })
        default: return value
        }
    }

    /// A value as a caller gives it: keys that start with `$` are escaped, so that they cannot name a blob.
    public static func escaping(_ value: JSON) -> JSON {
        switch value {
        case .array(let values): .array(values.map(escaping))
        case .object(let members):
            .object(members.map { .init($0.key.hasPrefix("$") ? "$" + $0.key : $0.key, escaping($0.value)) })
        default: value
        }
    }
}

extension HostError {
    /// What a plugin says when it should say JSON.
    public static let invalidAnswer = HostError(
        "plugin.invalid_answer", "The plugin answered with something that is no JSON.")
}

extension JSON {
    /// The number of the blob that this value stands for: `{"$blob": number}`; nil for any other value.
    var blobIndex: Int? {
        guard case .object(let members) = self, members.count == 1, JSON.same(members[0].key, "$blob") else {
            return nil
        }
        return members[0].value.intValue.map { Int($0) }
    }
}
