internal import ApsuleKit
internal import CCurl
internal import Glibc

/// What a request is sent for: the family, what it may reach, whom it trusts, the project's cookies.
struct HTTPContext: Sendable {
    let family: String
    let cookies: CookieJar
    let proxies: Proxies
    /// PEM of the owner's own certificate authorities, besides the system's.
    let authorities: [UInt8]
    let allows: @Sendable (_ place: String, _ address: String?) -> Bool

    func proxy(for url: WebURL) -> String? { proxies.proxy(for: url) }

    func trust(_ handle: UnsafeMutableRawPointer) {
        guard !authorities.isEmpty else { return }
        ccurl_set_text(handle, CURLOPT_CAPATH, "/etc/ssl/certs")
        authorities.withUnsafeBytes { _ = ccurl_set_blob(handle, CURLOPT_CAINFO_BLOB, $0.baseAddress, $0.count) }
    }

    func denied(_ url: WebURL, address: String?) -> HostError {
        let what = address.map { "\(url.origin), which is \($0)," } ?? url.origin
        return HostError(
            "permission.denied", "\(what) is outside what this project may reach over the network.",
            details: [
                "permission": "network", "origin": .string(url.origin), "address": address.map { .string($0) } ?? .null,
            ])
    }

    func stalled(_ url: WebURL, _ limit: Duration) -> HostError {
        HostError(
            "\(family).timed_out", "Nothing moved between \(url.origin) and here for \(limit.milliseconds) ms.",
            details: ["origin": .string(url.origin), "reason": "stalled"])
    }

    /// libcurl's error as the family's.
    ///
    /// Source: <https://curl.se/libcurl/c/libcurl-errors.html>
    func error(_ code: CURLcode, _ handle: UnsafeMutableRawPointer, _ url: WebURL) -> HostError {
        let place = url.origin
        let text = String(cString: curl_easy_strerror(code))
        let (reason, message): (String, String) =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST: ("dns_failed", "\(url.host) has no address that could be found.")
            case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: ("proxy_failed", "The proxy does not work: \(text).")
            case CURLE_COULDNT_CONNECT: ("connect_failed", "\(place) takes no connection\(osReason(handle)).")
            case CURLE_OPERATION_TIMEDOUT: ("timed_out", "\(place) did not answer in time.")
            case CURLE_PEER_FAILED_VERIFICATION:
                ("certificate_invalid", "The certificate of \(place) cannot be trusted: \(certificateReason(handle)).")
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_USE_SSL_FAILED,
                CURLE_SSL_CACERT_BADFILE:
                ("tls_failed", "No secure connection to \(place) could be agreed on: \(text).")
            case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2_STREAM,
                CURLE_SEND_FAIL_REWIND:
                ("connection_lost", "The connection to \(place) ended before the answer did: \(text).")
            case CURLE_ABORTED_BY_CALLBACK, CURLE_READ_ERROR:
                ("body_changed", "The file that is sent became shorter meanwhile.")
            case CURLE_OUT_OF_MEMORY: ("out_of_memory", "There is not enough memory.")
            default: ("invalid_response", "What \(place) answers is no valid HTTP: \(text).")
            }
        return HostError("\(family).\(reason)", message, details: ["origin": .string(place), "reason": .string(text)])
    }

    private func osReason(_ handle: UnsafeMutableRawPointer) -> String {
        var number = 0
        ccurl_get_long(handle, CURLINFO_OS_ERRNO, &number)
        return number == 0 ? "" : ": " + String(cString: strerror(Int32(number)))
    }

    /// Says what is wrong with a certificate.
    ///
    /// Source: <https://www.openssl.org/docs/man3.0/man3/X509_STORE_CTX_get_error.html>
    private func certificateReason(_ handle: UnsafeMutableRawPointer) -> String {
        var result = 0
        ccurl_get_long(handle, CURLINFO_SSL_VERIFYRESULT, &result)
        return switch result {
        case 0, 1, 62, 64: "it is for another host"
        case 9: "it is not valid yet"
        case 10: "it has expired"
        case 18, 19: "it is signed by itself"
        case 20, 21: "nobody whom this system trusts has signed it"
        case 23: "it was revoked"
        default: "OpenSSL's reason \(result)"
        }
    }
}

extension HostError {
    static let noMemory = HostError("host.busy", "There is not enough memory for another transfer.")
}
