internal import CCurl
internal import Glibc

// libcurl's callbacks. They run on the transfer thread; the user data is the Exchange, which the loop keeps while its
// handle is on it.

private func exchange(_ data: UnsafeMutableRawPointer?) -> Exchange? {
    data.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
}

/// Hands bytes of the body on.
///
/// Source: <https://curl.se/libcurl/c/CURLOPT_WRITEFUNCTION.html>
func takeBytes(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, data: UnsafeMutableRawPointer?
) -> Int {
    exchange(data)?.write(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

/// Takes a line of the head; an empty one is its end.
///
/// Source: <https://curl.se/libcurl/c/CURLOPT_HEADERFUNCTION.html>
func takeHeader(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, data: UnsafeMutableRawPointer?
) -> Int {
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    let isEnd = line.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    // Any other number ends the transfer.
    return exchange(data)?.takeHeader(isEnd: isEnd) == true ? line.count : line.count + 1
}

/// Opens a socket, but where the address may not be reached.
///
/// Source: <https://curl.se/libcurl/c/CURLOPT_OPENSOCKETFUNCTION.html>
func openSocket(
    data: UnsafeMutableRawPointer?, purpose: curlsocktype, address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let exchange = exchange(data), let address else { return CURL_SOCKET_BAD }
    let (family, kind, proto) = (address.pointee.family, address.pointee.socktype, address.pointee.protocol)
    let text = withUnsafePointer(to: &address.pointee.addr) { numericHost($0, address.pointee.addrlen) }
    guard purpose == CURLSOCKTYPE_IPCXN, let text, exchange.mayConnect(to: text) else { return CURL_SOCKET_BAD }
    return socket(family, kind | Int32(SOCK_CLOEXEC.rawValue), proto)
}

/// Checks the address of a connection that is used again, before the request is sent.
///
/// Source: <https://curl.se/libcurl/c/CURLOPT_PREREQFUNCTION.html>
func beforeRequest(
    data: UnsafeMutableRawPointer?, remote: UnsafeMutablePointer<CChar>?, local: UnsafeMutablePointer<CChar>?,
    remotePort: Int32, localPort: Int32
) -> Int32 {
    guard let exchange = exchange(data), let remote else { return CURL_PREREQFUNC_ABORT }
    return exchange.maySend(to: String(cString: remote)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// Passes the progress of a transfer on.
///
/// Source: <https://curl.se/libcurl/c/CURLOPT_XFERINFOFUNCTION.html>
func noteProgress(
    data: UnsafeMutableRawPointer?, ofReceived: curl_off_t, received: curl_off_t, ofSent: curl_off_t, sent: curl_off_t
) -> Int32 {
    let goesOn = exchange(data)?.progress(
        sent: Int64(sent), ofSent: Int64(ofSent), received: Int64(received), ofReceived: Int64(ofReceived))
    return goesOn == true ? 0 : 1
}

/// An address in numbers, without its zone.
private func numericHost(_ address: UnsafePointer<sockaddr>, _ size: UInt32) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard getnameinfo(address, size, &buffer, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST) == 0 else { return nil }
    let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.split(separator: "%", maxSplits: 1).first.map(String.init)
}
