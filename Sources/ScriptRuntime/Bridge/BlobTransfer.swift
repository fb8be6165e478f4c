internal import CJavaScriptCore
internal import HostCore

/// Binary data across the bridge.
enum BlobTransfer {
    /// Below this a copy costs less than a finalizer.
    private static let smallest = 4_096

    /// The bytes of an array of Uint8Arrays: one copy, since the script may change them while the call runs.
    static func copies(_ context: JSContextRef) -> (JSValueRef) -> [Blob] {
        { value in
            guard let list = JSValueToObject(context, value, nil) else { return [] }
            let count = withJSString("length") { name in
                Int(JSValueToNumber(context, JSObjectGetProperty(context, list, name, nil), nil))
            }
            return (0..<count).map { index in
                let element = JSObjectGetPropertyAtIndex(context, list, UInt32(index), nil)
                guard let array = JSValueToObject(context, element, nil),
                    let bytes = JSObjectGetTypedArrayBytesPtr(context, array, nil)
                else { return Blob([]) }
                // The pointer is that of the buffer behind the array.
                let offset = JSObjectGetTypedArrayByteOffset(context, array, nil)
                let length = JSObjectGetTypedArrayByteLength(context, array, nil)
                return Blob(UnsafeRawBufferPointer(start: bytes + offset, count: length))
            }
        }
    }

    /// An array of Uint8Arrays; undefined where there are none.
    static func arrays(_ context: JSContextRef, _ blobs: [Blob]) -> JSValueRef? {
        guard !blobs.isEmpty else { return JSValueMakeUndefined(context) }
        let list = JSObjectMakeArray(context, 0, nil, nil)
        for (index, blob) in blobs.enumerated() {
            JSObjectSetPropertyAtIndex(context, list, UInt32(index), array(context, blob), nil)
        }
        return list
    }

    /// A Uint8Array, a larger one over the blob's memory where that is nobody else's.
    ///
    /// What a plugin owns is copied: a script may write into its array, and the plugin may still read its memory.
    static func array(_ context: JSContextRef, _ blob: Blob) -> JSObjectRef? {
        blob.count < smallest || !blob.isOwnMemory ? copy(context, blob) : adopt(context, blob)
    }

    private static func copy(_ context: JSContextRef, _ blob: Blob) -> JSObjectRef? {
        let array = JSObjectMakeTypedArray(context, kJSTypedArrayTypeUint8Array, blob.count, nil)
        guard blob.count > 0, let bytes = JSObjectGetTypedArrayBytesPtr(context, array, nil) else { return array }
        blob.withBytes { UnsafeMutableRawBufferPointer(start: bytes, count: $0.count).copyMemory(from: $0) }
        return array
    }

    /// The collector gives the blob back when the script has let go of the array.
    private static func adopt(_ context: JSContextRef, _ blob: Blob) -> JSObjectRef? {
        let owner = Unmanaged.passRetained(blob)
        return blob.withBytes { bytes in
            JSObjectMakeTypedArrayWithBytesNoCopy(
                context, kJSTypedArrayTypeUint8Array, UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count,
                releaseBlob, owner.toOpaque(), nil)
        }
    }
}

/// Runs on the engine's thread or a collector's, once.
///
/// `owner` is the retained Blob.
private func releaseBlob(_ bytes: UnsafeMutableRawPointer?, _ owner: UnsafeMutableRawPointer?) {
    guard let owner else { return }
    Unmanaged<Blob>.fromOpaque(owner).release()
}
