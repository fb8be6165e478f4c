internal import CICU
internal import CJavaScriptCore

/// UTF-8 for TextEncoder and TextDecoder, and the names of hosts for URL.
extension Engine {
    /// The text's bytes as a Uint8Array.
    func encodeText(_ value: JSValueRef?) -> JSValueRef? {
        guard let string = JSValueToStringCopy(context, value, nil) else { return nil }
        defer { JSStringRelease(string) }
        let bytes = scratch.bytes(of: string)
        let array = JSObjectMakeTypedArray(context, kJSTypedArrayTypeUint8Array, bytes.count, nil)
        if !bytes.isEmpty, let target = JSObjectGetTypedArrayBytesPtr(context, array, nil) {
            UnsafeMutableRawBufferPointer(start: target, count: bytes.count).copyBytes(from: bytes)
        }
        return array
    }

    /// The text of a Uint8Array; undefined where it must be well-formed and is not.
    func decodeText(_ value: JSValueRef?, mustBeValid: Bool) -> JSValueRef? {
        guard let array = JSValueToObject(context, value, nil) else { return nil }
        let length = JSObjectGetTypedArrayByteLength(context, array, nil)
        guard length > 0, let start = JSObjectGetTypedArrayBytesPtr(context, array, nil) else {
            return text([])
        }
        let offset = JSObjectGetTypedArrayByteOffset(context, array, nil)
        let bytes = UnsafeRawBufferPointer(start: start + offset, count: length)
        let decoded = mustBeValid ? String(validating: bytes, as: UTF8.self) : String(decoding: bytes, as: UTF8.self)
        return decoded.flatMap { text in withJSString(text) { JSValueMakeString(context, $0) } }
    }

    /// A host's name in ASCII; undefined for what is no name.
    func domainToASCII(_ value: JSValueRef?) -> JSValueRef? {
        guard let name = JSValueToStringCopy(context, value, nil) else { return nil }
        defer { JSStringRelease(name) }
        let length = JSStringGetLength(name)
        // No name of a host is longer than 253 characters; what is far beyond that is not worth the memory.
        guard length <= 1 << 14 else { return nil }
        var ascii = [UInt16](repeating: 0, count: 1 << 16)
        let count = apsule_domain_to_ascii(JSStringGetCharactersPtr(name), Int32(length), &ascii, Int32(ascii.count))
        guard count >= 0, let text = JSStringCreateWithCharacters(ascii, Int(count)) else { return nil }
        defer { JSStringRelease(text) }
        return JSValueMakeString(context, text)
    }
}

extension Natives {
    static func addText(_ prelude: PreludeFunctions) {
        prelude.addNative("encodeText") { _, _, _, _, values, _ in Natives.engine.encodeText(values?[0]) }
        prelude.addNative("domainToASCII") { _, _, _, _, values, _ in Natives.engine.domainToASCII(values?[0]) }
        prelude.addNative("decodeText") { context, _, _, _, values, _ in
            Natives.engine.decodeText(values?[0], mustBeValid: JSValueToBoolean(context, values?[1]))
        }
    }
}
