import ApsuleKit
import COpenSSL

/// The digests that are offered, fetched once: to look one up by name costs more than to hash a kilobyte.
///
/// Source: <https://docs.openssl.org/3.0/man7/crypto/#fetching-examples>
enum Algorithm: String, ArgumentValue, CaseIterable {
    case sha1, sha256, sha384, sha512

    fileprivate var method: OpaquePointer? {
        switch self {
        case .sha1: Methods.sha1
        case .sha256: Methods.sha256
        case .sha384: Methods.sha384
        case .sha512: Methods.sha512
        }
    }
}

/// nonisolated(unsafe): OpenSSL's methods do not change once fetched, and these are never freed.
private enum Methods {
    nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil)
    nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
    nonisolated(unsafe) static let sha384 = EVP_MD_fetch(nil, "SHA384", nil)
    nonisolated(unsafe) static let sha512 = EVP_MD_fetch(nil, "SHA512", nil)
    nonisolated(unsafe) static let hmac = EVP_MAC_fetch(nil, "HMAC", nil)
}

/// Something that bytes are fed to piece by piece.
protocol Hasher: ~Copyable {
    mutating func update(_ bytes: UnsafeBufferPointer<UInt8>) throws(HostError)
    consuming func finish() throws(HostError) -> [UInt8]
}

/// One running digest.
///
/// Source: <https://docs.openssl.org/3.0/man3/EVP_DigestInit/>
struct Digest: ~Copyable, Hasher {
    private let context: OpaquePointer

    init(_ algorithm: Algorithm) throws(HostError) {
        guard let method = algorithm.method, let context = EVP_MD_CTX_new() else { throw .openSSL() }
        guard EVP_DigestInit_ex2(context, method, nil) == 1 else {
            EVP_MD_CTX_free(context)
            throw .openSSL()
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    mutating func update(_ bytes: UnsafeBufferPointer<UInt8>) throws(HostError) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { throw .openSSL() }
    }

    consuming func finish() throws(HostError) -> [UInt8] {
        var length: UInt32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            if EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1 { count = Int(length) }
        }
        guard !bytes.isEmpty else { throw .openSSL() }
        return bytes
    }
}

/// One running keyed digest.
///
/// Source: <https://docs.openssl.org/3.0/man3/EVP_MAC/>
struct KeyedDigest: ~Copyable, Hasher {
    private let context: OpaquePointer

    init(_ algorithm: Algorithm, key: [UInt8]) throws(HostError) {
        guard let context = Methods.hmac.flatMap({ EVP_MAC_CTX_new($0) }) else { throw .openSSL() }
        // Parameters point to their name and value, so both stay until init has read them.
        var value = Array(algorithm.rawValue.utf8CString)
        let started = OSSL_MAC_PARAM_DIGEST.withCString { name in
            value.withUnsafeMutableBufferPointer { value in
                var parameters = [
                    OSSL_PARAM_construct_utf8_string(name, value.baseAddress, 0), OSSL_PARAM_construct_end(),
                ]
                // The zero makes a pointer for a key without bytes, which NULL would not mean.
                return EVP_MAC_init(context, key + [0], key.count, &parameters) == 1
            }
        }
        guard started else {
            EVP_MAC_CTX_free(context)
            throw .openSSL()
        }
        self.context = context
    }

    deinit { EVP_MAC_CTX_free(context) }

    mutating func update(_ bytes: UnsafeBufferPointer<UInt8>) throws(HostError) {
        guard bytes.isEmpty || EVP_MAC_update(context, bytes.baseAddress, bytes.count) == 1 else { throw .openSSL() }
    }

    consuming func finish() throws(HostError) -> [UInt8] {
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            if EVP_MAC_final(context, buffer.baseAddress, &length, buffer.count) == 1 { count = length }
        }
        guard !bytes.isEmpty else { throw .openSSL() }
        return bytes
    }
}

enum OpenSSL {
    /// Bytes that nobody can predict.
    ///
    /// Source: <https://docs.openssl.org/3.0/man3/RAND_bytes/>
    static func randomBytes(_ count: Int) throws(HostError) -> [UInt8] {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            if RAND_bytes(buffer.baseAddress, Int32(count)) == 1 { filled = count }
        }
        guard bytes.count == count else { throw .openSSL() }
        return bytes
    }
}

extension HostError {
    /// What OpenSSL last complained of on this thread.
    fileprivate static func openSSL() -> HostError {
        let code = ERR_get_error()
        ERR_clear_error()
        let text = ERR_reason_error_string(code).map { String(cString: $0) } ?? "no reason given"
        return HostError("crypto.openssl_failed", "OpenSSL: \(text)", details: ["opensslCode": .int(Int64(code))])
    }
}
