import ApsuleKit
import ApsuleTransport

extension HttpFamily {
    /// Sends a request and gives the answer.
    ///
    /// - Parameter call: {url, method, headers?, query?, one of json, text, base64, file, multipart, responseType,
    ///   downloadTo?, maxBytes (bytes), maxRedirects, cookies, compressed, connectTimeoutMs (ms)}
    /// - Returns: {status, ok, url, redirected, httpVersion, headers, setCookies?, type, body, size (bytes)}
    /// - Throws: what `HTTPTransport.send` does, and `http.response_too_large`, `not_json`, `not_a_file`, `full`.
    func request(_ call: Call) async throws -> Message {
        let request = try HTTPRequest(call)
        let answer = try HTTPAnswer(call)
        let response = try await transport.send(request, for: call, to: answer)
        return try answer.message(response)
    }
}
