/// Binary input: a Base64 string, or a `Uint8Array` of the caller.
public struct Bytes: ArgumentValue, Hashable {
    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public init(_ arguments: Arguments) throws(HostError) {
        if let text = arguments.json.stringValue {
            guard let bytes = Base64.decode(text) else { throw arguments.mismatch("Base64 text or Uint8Array") }
            self.bytes = bytes
        } else if let index = arguments.json["$blob"]?.intValue, arguments.blobs.indices.contains(Int(index)) {
            bytes = arguments.blobs[Int(index)]
        } else {
            throw arguments.mismatch("Base64 text or Uint8Array")
        }
    }
}

extension JSON: ArgumentValue {
    public init(_ arguments: Arguments) { self = arguments.json }
}

extension String: ArgumentValue {
    public init(_ arguments: Arguments) throws(HostError) {
        guard case .string(let value) = arguments.json else { throw arguments.mismatch("string") }
        self = value
    }
}

extension Bool: ArgumentValue {
    public init(_ arguments: Arguments) throws(HostError) {
        guard case .bool(let value) = arguments.json else { throw arguments.mismatch("boolean") }
        self = value
    }
}

extension Int: ArgumentValue {
    public init(_ arguments: Arguments) throws(HostError) {
        switch arguments.json {
        case .int(let value): self = Int(value)
        case .double(let value):
            guard let exact = Int(exactly: value) else { throw arguments.mismatch("integer") }
            self = exact
        default: throw arguments.mismatch("integer")
        }
    }
}

extension Double: ArgumentValue {
    public init(_ arguments: Arguments) throws(HostError) {
        guard let value = arguments.json.doubleValue else { throw arguments.mismatch("number") }
        self = value
    }
}

extension Array: ArgumentValue where Element: ArgumentValue {
    public init(_ arguments: Arguments) throws(HostError) {
        guard case .array(let values) = arguments.json else { throw arguments.mismatch("array") }
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            let path = "\(arguments.path)[\(index)]"
            elements.append(try Element(Arguments(value, path: path, blobs: arguments.blobs)))
        }
        self = elements
    }
}

/// An enumeration of strings reads itself: `enum Mode: String, ArgumentValue, CaseIterable { case fast, slow }`.
extension ArgumentValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    public init(_ arguments: Arguments) throws(HostError) {
        guard let text = arguments.json.stringValue, let value = Self(rawValue: text) else {
            throw arguments.mismatch("one of " + Self.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self = value
    }
}
