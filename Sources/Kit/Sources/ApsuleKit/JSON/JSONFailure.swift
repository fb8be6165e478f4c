extension JSON {
    /// Why bytes are not JSON that this host takes.
    public struct Failure: Error, Sendable, Hashable {
        public let message: String
        /// The byte where reading stopped.
        public let offset: Int
        /// The text may be JSON, but nests deeper than allowed.
        public let isTooDeep: Bool

        public init(_ message: String, at offset: Int, isTooDeep: Bool = false) {
            self.message = message
            self.offset = offset
            self.isTooDeep = isTooDeep
        }

        /// Where `offset` is in the text that was read: line and column from 1, columns in characters (scalars).
        public func position(in bytes: UnsafeBufferPointer<UInt8>) -> (line: Int, column: Int) {
            var position = (line: 1, column: 1)
            for byte in bytes.prefix(offset) {
                if byte == UInt8(ascii: "\n") {
                    position = (position.line + 1, 1)
                } else if byte & 0xC0 != 0x80 {
                    position.column += 1
                }
            }
            return position
        }

        /// Where `offset` is in the text that was read.
        public func position(in bytes: [UInt8]) -> (line: Int, column: Int) {
            bytes.withUnsafeBufferPointer { position(in: $0) }
        }
    }

    /// Nesting that is accepted where nothing else is said.
    public static let defaultDepth = 64

    /// Nesting that is accepted at most, whatever is asked for: values are released, compared and written by recursion,
    /// which must fit the stack of any thread (512 KiB).
    public static let greatestDepth = 128
}
