internal import ApsuleKit
internal import CProcess
internal import Glibc

/// Memory that crosses between processes: written once, sealed, then mapped by the receiver without a copy.
///
/// Whoever writes to it writes to pages of its own, which the kernel copies at that moment: no other process sees that.
///
/// `@unchecked Sendable`: nobody else can change the bytes, here or in any process.
final class SharedMemory: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer

    /// Maps memory that another process made.
    ///
    /// The seals are checked first: memory that its maker can still shrink would end this process with SIGBUS, and memory
    /// that can change would differ from what was checked.
    init(_ file: OwnedFile) throws(HostError) {
        let size = wire_sealed_size(file.raw)
        guard size >= 0 else { throw .malformed("memory that is not sealed") }
        guard size > 0 else {
            bytes = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        guard let base = mmap(nil, Int(size), PROT_READ | PROT_WRITE, MAP_PRIVATE, file.raw, 0), base != MAP_FAILED
        else {
            throw .system("Shared memory cannot be mapped", errno)
        }
        bytes = UnsafeRawBufferPointer(start: base, count: Int(size))
    }

    deinit {
        if let base = bytes.baseAddress { munmap(UnsafeMutableRawPointer(mutating: base), bytes.count) }
    }

    /// A part as a blob, which keeps the whole mapped.
    func blob(_ range: Range<Int>) -> Blob {
        Blob(UnsafeRawBufferPointer(rebasing: bytes[range]), isOwnMemory: true) { [self] in
            withExtendedLifetime(self) {}
        }
    }

    /// Puts pieces one behind the other into new memory and seals it.
    static func make(
        size: Int, _ write: (_ put: (UnsafeRawBufferPointer) -> Void) -> Void
    ) throws(HostError) -> OwnedFile {
        let descriptor = wire_memory(size)
        guard descriptor >= 0 else { throw .system("Shared memory cannot be made", -descriptor) }
        let file = OwnedFile(descriptor)
        var failure: Int32 = 0
        var offset = 0
        write { piece in
            var rest = piece
            while failure == 0, !rest.isEmpty {
                let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset))
                if count < 0, errno != EINTR { failure = errno }
                guard count > 0 else { continue }
                offset += count
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
        if failure == 0 { failure = -wire_seal(descriptor) }
        guard failure == 0 else { throw .system("Shared memory cannot be written", failure) }
        return file
    }
}
