public import CApsule

/// Binary data with one owner, released exactly once when the last reference goes.
///
/// Its bytes change only after its last receiver, a script, has taken it over (see `isOwnMemory`).
///
/// `@unchecked Sendable`: until then the bytes are immutable, and `release` may run on any thread by the ABI's promise.
public final class Blob: @unchecked Sendable {
    private let pointer: UnsafeRawBufferPointer
    private let release: (() -> Void)?
    /// Whether the memory is this blob's alone, so that a script may be given it to write into: a copy made here, or pages
    /// that become private when they are written to.
    ///
    /// Not what a plugin owns. Whoever keeps a payload that also goes to a script keeps a copy.
    public let isOwnMemory: Bool

    public init(_ bytes: some Collection<UInt8>) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyBytes(from: bytes)
        pointer = UnsafeRawBufferPointer(copy)
        release = { copy.deallocate() }
        isOwnMemory = true
    }

    /// Takes over memory that `release` gives back.
    ///
    /// - Parameter isOwnMemory: nobody else knows the memory, and it may be written to.
    public init(_ pointer: UnsafeRawBufferPointer, isOwnMemory: Bool = false, release: @escaping () -> Void) {
        self.pointer = pointer
        self.release = release
        self.isOwnMemory = isOwnMemory
    }

    /// Takes over an owned blob, copies a borrowed one.
    public convenience init(abi blob: apsule_blob) {
        let bytes = UnsafeRawBufferPointer(start: blob.data, count: blob.data == nil ? 0 : blob.size)
        if let release = blob.release {
            let owner = blob.owner
            self.init(bytes) { release(owner) }
        } else {
            self.init(bytes)
        }
    }

    deinit { release?() }

    public var count: Int { pointer.count }

    public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try body(pointer) }

    /// The bytes for a callee that must not keep them.
    var borrowed: apsule_blob {
        apsule_blob(data: pointer.bindMemory(to: UInt8.self).baseAddress, size: pointer.count, release: nil, owner: nil)
    }
}
