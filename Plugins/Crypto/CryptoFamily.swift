import ApsuleKit
public import CApsule

/// `host.crypto`: hashes, random values and encodings; it keeps nothing.
final class CryptoFamily: Family {
    static let name = "crypto"

    static let operations: [Operation<CryptoFamily>] = [
        .call("randomUUID", randomUUID),
        .call("randomBytes", randomBytes),
        .call("sha256", sha256),
        .call("sha512", sha512),
        .call("hmac", hmac),
        .call("base64Encode", base64Encode),
        .call("base64Decode", base64Decode),
        .call("urlEncode", urlEncode),
        .call("urlDecode", urlDecode),
        .call("jwtDecode", jwtDecode),
    ]

    init(_ project: Project) {}
}

@c(apsule_plugin_crypto)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(CryptoFamily.self)
