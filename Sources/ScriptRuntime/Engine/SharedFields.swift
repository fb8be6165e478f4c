internal import CJavaScriptCore

/// An Int32Array that the prelude and the engine's thread share: passing a number this way costs neither a conversion.
final class SharedFields {
    enum Field: Int {
        case status, operation, slot, timeout, flow, alive, engineWork, mainPending
    }

    private static let count = 16
    private let memory: UnsafeMutablePointer<Int32>
    let array: JSObjectRef?

    init(_ context: JSGlobalContextRef) {
        memory = .allocate(capacity: Self.count)
        memory.initialize(repeating: 0, count: Self.count)
        // The memory outlives the array: it is freed with this object, after the context.
        array = JSObjectMakeTypedArrayWithBytesNoCopy(
            context, kJSTypedArrayTypeInt32Array, memory, Self.count * MemoryLayout<Int32>.size, { _, _ in }, nil, nil)
        JSValueProtect(context, array)
    }

    deinit { memory.deallocate() }

    func close(_ context: JSGlobalContextRef) { JSValueUnprotect(context, array) }

    subscript(field: Field) -> Int32 {
        get { memory[field.rawValue] }
        set { memory[field.rawValue] = newValue }
    }
}
