public import CApsule

/// Binary data with one owner, released exactly once when the last reference goes.
///
/// `@unchecked Sendable`: the bytes are immutable, and `release` may run on any thread by the ABI's promise.
public final class Blob: @unchecked Sendable {
    private let pointer: UnsafeRawBufferPointer
    private let release: (() -> Void)?

    public init(_ bytes: some Collection<UInt8>) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyBytes(from: bytes)
        pointer = UnsafeRawBufferPointer(copy)
        release = { copy.deallocate() }
    }

    /// Takes over memory that `release` gives back.
    public init(_ pointer: UnsafeRawBufferPointer, release: @escaping () -> Void) {
        self.pointer = pointer
        self.release = release
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
