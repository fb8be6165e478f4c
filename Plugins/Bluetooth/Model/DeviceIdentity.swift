import ApsuleKit
internal import CGLib
internal import Glibc
internal import Synchronization

/// Names devices for one project: an id says nothing of the address, and differs from project to project.
///
/// The id is an HMAC-SHA256 of the address under a key that this project's folder keeps. A device that changes its
/// address for privacy is another device, as on other systems.
final class DeviceIdentity: Sendable {
    private let key: [UInt8]
    private let ids = Mutex<[String: String]>([:])

    /// Takes the key from the family's folder, making it the first time.
    init(folder: Int32) throws(HostError) { key = try Self.key(in: folder) }

    /// An identity with a key of the caller's.
    init(key: [UInt8]) { self.key = key }

    /// The same for as long as BlueZ keeps the device, also when pairing reveals another address.
    func id(_ device: Device) -> String {
        ids.withLock { ids in
            if let id = ids[device.path] { return id }
            if ids.count >= 16_384 { ids.removeAll() }
            let id = id(address: device.address, type: device.addressType)
            ids[device.path] = id
            return id
        }
    }

    func id(address: String, type: String) -> String {
        let text = Array("\(type)/\(address.uppercased())".utf8)
        let digest = g_compute_hmac_for_data(G_CHECKSUM_SHA256, key, gsize(key.count), text, gsize(text.count))
        defer { g_free(digest) }
        guard let digest else { return "" }
        // 120 bits are 20 characters of Base64 without padding.
        let hex = Array(UnsafeBufferPointer(start: digest, count: strlen(digest)).map { UInt8(bitPattern: $0) })
        let bytes = stride(from: 0, to: 30, by: 2).compactMap {
            UInt8(String(decoding: hex[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        return Base64.encode(bytes, url: true)
    }

    // MARK: - The key

    private static let fileName = "identity.key"
    private static let keySize = 32

    private static func key(in folder: Int32) throws(HostError) -> [UInt8] {
        if let key = try read(in: folder) { return key }
        // The system's generator: getrandom(2).
        let fresh = (0..<keySize).map { _ in UInt8.random(in: .min ... .max) }
        // Written whole under another name and then linked, so that no reader meets half a key, and the first wins.
        let temporary = "\(fileName).\(getpid()).\(UInt32.random(in: .min ... .max))"
        let file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("make", errno) }
        let isWritten = write(file, fresh, keySize) == keySize && fsync(file) == 0
        close(file)
        defer { unlinkat(folder, temporary, 0) }
        guard isWritten else { throw failure("write", errno) }
        guard linkat(folder, temporary, folder, fileName, 0) == 0 || errno == EEXIST else {
            throw failure("keep", errno)
        }
        fsync(folder)
        guard let key = try read(in: folder) else { throw failure("read", ENOENT) }
        return key
    }

    private static func read(in folder: Int32) throws(HostError) -> [UInt8]? {
        let file = openat(folder, fileName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("open", errno)
        }
        defer { close(file) }
        var key = [UInt8](repeating: 0, count: keySize + 1)
        let count = Glibc.read(file, &key, key.count)
        guard count == keySize else { throw failure("read", count < 0 ? errno : EINVAL) }
        return Array(key.prefix(keySize))
    }

    private static func failure(_ verb: String, _ code: Int32) -> HostError {
        .unavailable(
            "bluetooth", "The key that names devices cannot be used (\(verb): \(String(cString: strerror(code)))).",
            fix: "Look at \(fileName) in the data folder of bluetooth for this project; without it devices get new ids."
        )
    }
}
