public import CApsule

// The plugin ABI's borrowed bytes, on both sides of it.

extension apsule_slice {
    /// The bytes; borrowed, so valid no longer than the slice is.
    public var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: data, count: data == nil ? 0 : size) }

    /// The text; bytes that are no UTF-8 become U+FFFD, which no check that follows lets pass.
    public var text: String { String(decoding: buffer, as: UTF8.self) }
}

extension [UInt8] {
    /// The bytes as a slice that is borrowed for the time of `body`.
    public func withSlice<R>(_ body: (apsule_slice) -> R) -> R {
        withUnsafeBufferPointer { body(apsule_slice(data: $0.baseAddress, size: $0.count)) }
    }
}

extension String {
    /// The text as a slice that is borrowed for the time of `body`.
    public func withSlice<R>(_ body: (apsule_slice) -> R) -> R {
        var text = self
        return text.withUTF8 { body(apsule_slice(data: $0.baseAddress, size: $0.count)) }
    }
}
