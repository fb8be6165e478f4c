internal import CJavaScriptCore

/// UTF-8 for TextEncoder and TextDecoder.
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
}

extension Natives {
    static func addText(_ prelude: PreludeFunctions) {
        prelude.addNative("encodeText") { _, _, _, _, values, _ in Natives.engine.encodeText(values?[0]) }
        prelude.addNative("decodeText") { context, _, _, _, values, _ in
            Natives.engine.decodeText(values?[0], mustBeValid: JSValueToBoolean(context, values?[1]))
        }
    }
}
