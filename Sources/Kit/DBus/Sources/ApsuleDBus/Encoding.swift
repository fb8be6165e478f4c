internal import CGio

/// Swift values to GVariant.
///
/// `check` refuses what GLib would abort on; `variant` then cannot fail.
enum Encoding {
    /// D-Bus allows 32 nested arrays and 32 nested structures; GVariant has one limit for both.
    static let depthLimit = 64
    static let arrayLimit = 1 << 26

    /// Checks the arguments of a message, and the size of the whole.
    static func check(_ arguments: [DBusValue]) throws(DBusError) {
        var size = 0
        for argument in arguments { _ = try signature(of: argument, depth: 1, size: &size) }
    }

    private static func signature(of value: DBusValue, depth: Int, size: inout Int) throws(DBusError) -> String {
        guard depth <= depthLimit else { throw DBusError(.invalid, "A value is nested deeper than \(depthLimit).") }
        size += 8
        switch value {
        case .byte: return "y"
        case .bool: return "b"
        case .int16: return "n"
        case .uint16: return "q"
        case .int32: return "i"
        case .uint32: return "u"
        case .int64: return "x"
        case .uint64: return "t"
        case .double: return "d"
        case .descriptor(let descriptor):
            guard descriptor.number >= 0 else { throw DBusError(.invalid, "A file descriptor was taken before.") }
            return "h"
        case .string(let text):
            try count(text.utf8.count, &size)
            guard !text.utf8.contains(0) else { throw DBusError(.invalid, "A string has a zero character.") }
            return "s"
        case .path(let path):
            try count(path.utf8.count, &size)
            guard g_variant_is_object_path(path) != 0, !path.utf8.contains(0) else {
                throw DBusError(.invalid, "“\(path)” is not an object path.")
            }
            return "o"
        case .signature(let signature):
            guard g_variant_is_signature(signature) != 0, !signature.utf8.contains(0) else {
                throw DBusError(.invalid, "“\(signature)” is not a signature.")
            }
            return "g"
        case .bytes(let bytes):
            try count(bytes.count, &size)
            return "ay"
        case .variant(let inner):
            _ = try signature(of: inner, depth: depth + 1, size: &size)
            return "v"
        case .structure(let members):
            guard !members.isEmpty else { throw DBusError(.invalid, "A structure has no members.") }
            var text = "("
            for member in members { text += try signature(of: member, depth: depth + 1, size: &size) }
            return text + ")"
        case .array(let values, let element):
            guard isSingleType(element) else { throw DBusError(.invalid, "“\(element)” is not one type.") }
            for value in values {
                let got = try signature(of: value, depth: depth + 1, size: &size)
                guard got == element else {
                    throw DBusError(.invalid, "An array of “\(element)” has an element of type “\(got)”.")
                }
            }
            return "a" + element
        case .dictionary(let entries, let element):
            guard isSingleType("a" + element), element.first == "{" else {
                throw DBusError(.invalid, "“\(element)” is not the type of a dictionary entry.")
            }
            for entry in entries {
                let key = try signature(of: entry.key, depth: depth + 1, size: &size)
                let got = "{" + key + (try signature(of: entry.value, depth: depth + 1, size: &size)) + "}"
                guard got == element else {
                    throw DBusError(.invalid, "A dictionary of “\(element)” has an entry of type “\(got)”.")
                }
            }
            return "a" + element
        }
    }

    private static func count(_ bytes: Int, _ size: inout Int) throws(DBusError) {
        size += bytes
        guard size <= arrayLimit else { throw DBusError(.invalid, "A message is larger than \(arrayLimit) bytes.") }
    }

    private static func isSingleType(_ signature: String) -> Bool {
        g_variant_is_signature(signature) != 0 && g_variant_type_string_is_valid(signature) != 0
    }

    /// The arguments of a message as one tuple, floating; descriptors are collected into `descriptors`.
    static func tuple(_ arguments: [DBusValue], descriptors: inout [DBusDescriptor]) -> OpaquePointer? {
        let children = arguments.map { variant($0, &descriptors) }
        return children.withUnsafeBufferPointer { g_variant_new_tuple($0.baseAddress, gsize($0.count)) }
    }

    private static func variant(_ value: DBusValue, _ descriptors: inout [DBusDescriptor]) -> OpaquePointer? {
        switch value {
        case .byte(let value): return g_variant_new_byte(value)
        case .bool(let value): return g_variant_new_boolean(value ? 1 : 0)
        case .int16(let value): return g_variant_new_int16(value)
        case .uint16(let value): return g_variant_new_uint16(value)
        case .int32(let value): return g_variant_new_int32(value)
        case .uint32(let value): return g_variant_new_uint32(value)
        case .int64(let value): return g_variant_new_int64(gint64(value))
        case .uint64(let value): return g_variant_new_uint64(guint64(value))
        case .double(let value): return g_variant_new_double(value)
        case .string(let text): return g_variant_new_string(text)
        case .path(let path): return g_variant_new_object_path(path)
        case .signature(let signature): return g_variant_new_signature(signature)
        case .descriptor(let descriptor):
            descriptors.append(descriptor)
            return g_variant_new_handle(Int32(descriptors.count - 1))
        case .bytes(let bytes):
            return type("y") { type in
                bytes.withUnsafeBytes { g_variant_new_fixed_array(type, $0.baseAddress, gsize($0.count), 1) }
            }
        case .variant(let inner): return g_variant_new_variant(variant(inner, &descriptors))
        case .structure(let members): return tuple(members, descriptors: &descriptors)
        case .array(let values, let element):
            return array(values.map { variant($0, &descriptors) }, element)
        case .dictionary(let entries, let element):
            return array(
                entries.map { entry in
                    let key = variant(entry.key, &descriptors)
                    return g_variant_new_dict_entry(key, variant(entry.value, &descriptors))
                }, element)
        }
    }

    private static func array(_ children: [OpaquePointer?], _ element: String) -> OpaquePointer? {
        type(element) { type in
            children.withUnsafeBufferPointer { g_variant_new_array(type, $0.baseAddress, gsize($0.count)) }
        }
    }

    /// A GVariantType is its signature's text.
    private static func type<R>(_ signature: String, _ body: (OpaquePointer?) -> R) -> R {
        signature.withCString { body(OpaquePointer($0)) }
    }
}
