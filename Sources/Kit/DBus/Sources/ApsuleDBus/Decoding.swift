internal import CGio

/// GVariant to Swift values, copied, with a bound on depth and on the number of values.
struct Decoding {
    static let valueLimit = 1 << 20

    private var values = 0
    private let descriptors: UnsafeMutablePointer<GUnixFDList>?

    /// - Parameter descriptors: the GUnixFDList of the message.
    private init(descriptors: UnsafeMutablePointer<GUnixFDList>?) { self.descriptors = descriptors }

    /// The members of a message's body.
    static func arguments(
        _ tuple: OpaquePointer?, descriptors: UnsafeMutablePointer<GUnixFDList>? = nil
    ) throws(DBusError) -> [DBusValue] {
        guard let tuple else { return [] }
        var decoding = Decoding(descriptors: descriptors)
        return try decoding.children(tuple, depth: 1)
    }

    private mutating func children(_ variant: OpaquePointer, depth: Int) throws(DBusError) -> [DBusValue] {
        let count = Int(g_variant_n_children(variant))
        var values: [DBusValue] = []
        values.reserveCapacity(min(count, 1024))
        for index in 0..<count { values.append(try child(variant, index, depth)) }
        return values
    }

    private mutating func child(_ variant: OpaquePointer, _ index: Int, _ depth: Int) throws(DBusError) -> DBusValue {
        let child = g_variant_get_child_value(variant, gsize(index))
        defer { g_variant_unref(child) }
        return try value(child, depth: depth)
    }

    private mutating func value(_ variant: OpaquePointer?, depth: Int) throws(DBusError) -> DBusValue {
        values += 1
        guard let variant, depth <= Encoding.depthLimit, values <= Self.valueLimit else {
            throw DBusError(.invalid, "A message is nested too deeply or has too many values.")
        }
        switch g_variant_classify(variant) {
        case G_VARIANT_CLASS_BOOLEAN: return .bool(g_variant_get_boolean(variant) != 0)
        case G_VARIANT_CLASS_BYTE: return .byte(g_variant_get_byte(variant))
        case G_VARIANT_CLASS_INT16: return .int16(g_variant_get_int16(variant))
        case G_VARIANT_CLASS_UINT16: return .uint16(g_variant_get_uint16(variant))
        case G_VARIANT_CLASS_INT32: return .int32(g_variant_get_int32(variant))
        case G_VARIANT_CLASS_UINT32: return .uint32(g_variant_get_uint32(variant))
        case G_VARIANT_CLASS_INT64: return .int64(Int64(g_variant_get_int64(variant)))
        case G_VARIANT_CLASS_UINT64: return .uint64(UInt64(g_variant_get_uint64(variant)))
        case G_VARIANT_CLASS_DOUBLE: return .double(g_variant_get_double(variant))
        case G_VARIANT_CLASS_STRING: return .string(text(variant))
        case G_VARIANT_CLASS_OBJECT_PATH: return .path(text(variant))
        case G_VARIANT_CLASS_SIGNATURE: return .signature(text(variant))
        case G_VARIANT_CLASS_HANDLE: return .descriptor(try descriptor(g_variant_get_handle(variant)))
        case G_VARIANT_CLASS_VARIANT: return .variant(try child(variant, 0, depth + 1))
        case G_VARIANT_CLASS_TUPLE: return .structure(try children(variant, depth: depth + 1))
        case G_VARIANT_CLASS_ARRAY: return try array(variant, depth: depth)
        default: throw DBusError(.invalid, "A message has a value of a type that D-Bus does not have.")
        }
    }

    private mutating func array(_ variant: OpaquePointer, depth: Int) throws(DBusError) -> DBusValue {
        guard let signature = g_variant_get_type_string(variant) else { return .bytes([]) }
        switch UInt8(bitPattern: signature[1]) {
        case UInt8(ascii: "y"):
            var count: gsize = 0
            let bytes = g_variant_get_fixed_array(variant, &count, 1)
            return .bytes([UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count))))
        case UInt8(ascii: "{"):
            let count = Int(g_variant_n_children(variant))
            var entries: [DBusValue.Entry] = []
            entries.reserveCapacity(min(count, 1024))
            for index in 0..<count {
                let entry = g_variant_get_child_value(variant, gsize(index))
                defer { g_variant_unref(entry) }
                guard let entry else { continue }
                let key = try child(entry, 0, depth + 1)
                entries.append(DBusValue.Entry(key, try child(entry, 1, depth + 1)))
            }
            return .dictionary(entries, element: String(cString: signature + 1))
        default:
            return .array(try children(variant, depth: depth + 1), element: String(cString: signature + 1))
        }
    }

    private func text(_ variant: OpaquePointer) -> String {
        var count: gsize = 0
        let text = g_variant_get_string(variant, &count)
        return String(decoding: UnsafeRawBufferPointer(start: text, count: Int(count)), as: UTF8.self)
    }

    /// A message owns its descriptors; the value gets a duplicate.
    private func descriptor(_ index: Int32) throws(DBusError) -> DBusDescriptor {
        guard let descriptors, index >= 0, index < g_unix_fd_list_get_length(descriptors) else {
            throw DBusError(.invalid, "A message names a file descriptor that did not come with it.")
        }
        var error: UnsafeMutablePointer<GError>?
        let descriptor = g_unix_fd_list_get(descriptors, index, &error)
        guard descriptor >= 0 else { throw DBusError(consuming: error, otherwise: .invalid) }
        return DBusDescriptor(owning: descriptor)
    }
}
