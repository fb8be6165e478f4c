/// A type that an argument can be read as; a structured argument conforms by reading its own fields.
///
///     struct Filter: ArgumentValue {
///         let services: [String]
///         init(_ arguments: Arguments) throws(HostError) { services = try arguments["services"] ?? [] }
///     }
public protocol ArgumentValue: Sendable {
    /// - Throws: `host.invalid_argument` with the exact path, expected and got.
    init(_ arguments: Arguments) throws(HostError)
}

/// One JSON argument value and where it stands, read by type with exact error paths.
///
///     let key: String = try call["key"]
///     let limit: Int? = try call["limit"]
public struct Arguments: Sendable {
    public let json: JSON
    /// The path from the arguments' root, as in `filter.services[0]`; empty for the root.
    public let path: String
    let blobs: [[UInt8]]

    public init(_ json: JSON, path: String = "", blobs: [[UInt8]] = []) {
        self.json = json
        self.path = path
        self.blobs = blobs
    }

    /// The named argument.
    public subscript<T: ArgumentValue>(name: String) -> T {
        get throws(HostError) { try T(child(name)) }
    }

    /// The named argument, or nil where it is absent or null.
    public subscript<T: ArgumentValue>(name: String) -> T? {
        get throws(HostError) {
            guard let value = json[name], value != .null else { return nil }
            return try T(Arguments(value, path: join(name), blobs: blobs))
        }
    }

    /// Whether the argument is there and not null.
    public func has(_ name: String) -> Bool { json[name] != nil && json[name] != .null }

    /// The value at a name, `null` where it is absent.
    public func child(_ name: String) -> Arguments {
        Arguments(json[name] ?? .null, path: join(name), blobs: blobs)
    }

    /// The error that says this value is not what was expected.
    public func mismatch(_ expected: String) -> HostError {
        .invalidArgument(path, expected: expected, got: json.summary)
    }

    private func join(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}

extension JSON {
    /// A value in a few words, for messages: `string "abc"`, `number 3`, `array of 2`.
    public var summary: String {
        switch self {
        case .null: "null"
        case .bool(let value): "boolean \(value)"
        case .int(let value): "number \(value)"
        case .double(let value): "number \(value)"
        case .string(let value): value.utf8.count <= 40 ? "string \"\(value)\"" : "string of \(value.utf8.count) bytes"
        case .array(let values): "array of \(values.count)"
        case .object(let members): "object with \(members.count) members"
        }
    }
}
