/// A value of any D-Bus type.
///
///     let options: DBusValue = .dictionary(["Transport": .string("le"), "DuplicateData": .bool(true)])
///
/// Source: <https://dbus.freedesktop.org/doc/dbus-specification.html#type-system>
public enum DBusValue: Sendable, Hashable {
    case byte(UInt8)
    case bool(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    /// UTF-8 text; D-Bus allows no zero character in it.
    case string(String)
    case path(String)
    case signature(String)
    case descriptor(DBusDescriptor)
    /// `ay`, without a value for each byte.
    case bytes([UInt8])
    /// Elements of one type, whose signature an empty array needs too.
    case array([DBusValue], element: String)
    /// A dictionary in the order of the wire; `element` is that of its entries, `{sv}`.
    case dictionary([Entry], element: String)
    case structure([DBusValue])
    indirect case variant(DBusValue)

    /// One entry of a dictionary.
    public struct Entry: Sendable, Hashable {
        public var key: DBusValue
        public var value: DBusValue

        public init(_ key: DBusValue, _ value: DBusValue) {
            self.key = key
            self.value = value
        }
    }
}

// MARK: - Making values

extension DBusValue {
    /// `a{sv}`: each value is wrapped in a variant.
    public static func dictionary(_ members: KeyValuePairs<String, DBusValue>) -> DBusValue {
        .dictionary(members.map { Entry(.string($0.key), .variant($0.value)) }, element: "{sv}")
    }

    /// `as`.
    public static func strings(_ texts: some Sequence<String>) -> DBusValue {
        .array(texts.map { .string($0) }, element: "s")
    }
}

// MARK: - Reading values

extension DBusValue {
    /// The value inside a variant, however deep; other values are themselves.
    public var unwrapped: DBusValue {
        var value = self
        while case .variant(let inner) = value { value = inner }
        return value
    }

    /// The text of a string, an object path or a signature.
    public var stringValue: String? {
        switch self {
        case .string(let text), .path(let text), .signature(let text): text
        case .variant(let inner): inner.stringValue
        default: nil
        }
    }

    public var boolValue: Bool? {
        switch self {
        case .bool(let value): value
        case .variant(let inner): inner.boolValue
        default: nil
        }
    }

    /// Any integer type, where it fits.
    public var intValue: Int? {
        switch self {
        case .byte(let value): Int(value)
        case .int16(let value): Int(value)
        case .uint16(let value): Int(value)
        case .int32(let value): Int(value)
        case .uint32(let value): Int(value)
        case .int64(let value): Int(value)
        case .uint64(let value): Int(exactly: value)
        case .variant(let inner): inner.intValue
        default: nil
        }
    }

    /// A double, or any integer type.
    public var doubleValue: Double? {
        switch self {
        case .double(let value): value
        case .variant(let inner): inner.doubleValue
        default: intValue.map(Double.init)
        }
    }

    public var bytesValue: [UInt8]? {
        switch self {
        case .bytes(let bytes): bytes
        case .variant(let inner): inner.bytesValue
        default: nil
        }
    }

    /// The elements of an array, or the members of a structure.
    public var arrayValue: [DBusValue]? {
        switch self {
        case .array(let values, _), .structure(let values): values
        case .variant(let inner): inner.arrayValue
        default: nil
        }
    }

    /// The texts of an array of strings, object paths or signatures.
    public var stringsValue: [String]? {
        guard case .array(let values, let element) = unwrapped, ["s", "o", "g"].contains(element) else { return nil }
        return values.compactMap(\.stringValue)
    }

    public var entries: [Entry]? {
        switch self {
        case .dictionary(let entries, _): entries
        case .variant(let inner): inner.entries
        default: nil
        }
    }

    public var descriptorValue: DBusDescriptor? {
        switch self {
        case .descriptor(let descriptor): descriptor
        case .variant(let inner): inner.descriptorValue
        default: nil
        }
    }

    /// The value at a text key of a dictionary, without its variant.
    public subscript(key: String) -> DBusValue? {
        entries?.first { $0.key.stringValue == key }?.value.unwrapped
    }
}
