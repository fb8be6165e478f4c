public import ApsuleKit

/// Builds the body of a frame: little-endian numbers, and text with its length before it.
public struct WireEncoder: Sendable {
    public private(set) var bytes: [UInt8] = []

    public init() {}

    public mutating func put(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    public mutating func put(_ value: Bool) { bytes.append(value ? 1 : 0) }

    public mutating func put(_ text: String) { put(Array(text.utf8)) }

    public mutating func put(_ data: [UInt8]) {
        put(UInt32(data.count))
        bytes.append(contentsOf: data)
    }

    /// Bytes whose length the reader knows.
    public mutating func putRaw(_ data: UnsafeRawBufferPointer) { bytes.append(contentsOf: data) }
}

/// Takes the body of a frame apart; whatever it holds gives a value or an error.
public struct WireDecoder: Sendable {
    private let bytes: [UInt8]
    private var offset = 0

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public mutating func number<T: FixedWidthInteger>(_: T.Type = T.self) throws(HostError) -> T {
        try raw(MemoryLayout<T>.size).reversed().reduce(T(0)) { ($0 << 8) | T(truncatingIfNeeded: $1) }
    }

    public mutating func flag() throws(HostError) -> Bool {
        switch try number(UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw .malformed("a flag that is neither 0 nor 1")
        }
    }

    public mutating func text() throws(HostError) -> String {
        let data = try data()
        do { return String(copying: try UTF8Span(validating: data.span)) } catch {
            throw .malformed("text that is not UTF-8")
        }
    }

    public mutating func data() throws(HostError) -> ArraySlice<UInt8> { try raw(Int(try number(UInt32.self))) }

    public mutating func raw(_ count: Int) throws(HostError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - offset else { throw .malformed("a body that ends too early") }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    /// A body has no more than its kind calls for.
    public func finish() throws(HostError) {
        guard offset == bytes.count else { throw .malformed("a body that is too long") }
    }
}
