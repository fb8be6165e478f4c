import ApsuleKit
import ApsuleTransport

extension TransferFamily {
    /// Sends a file, as a body or in a form.
    ///
    /// - Parameter call: {url, path, method, headers?, query?, field?, fileName?, fields?, contentType?, responseType,
    ///   maxBytes (bytes), stallTimeoutMs (ms), cookies, maxRedirects, connectTimeoutMs (ms)}
    /// - Returns: {status, ok, url, redirected, httpVersion, headers, setCookies?, type, body, size (bytes)}
    /// - Throws: `transfer.http_status` with the server's text, `not_a_file`, `body_changed`, and what
    ///   `HTTPTransport.send` does.
    func upload(_ call: Call, _ events: EventStream) async throws -> Message {
        let file = try FileSource(call, path: call["path"])
        let request = try uploadRequest(call, file)
        let progress = Progress()
        let answer = Upload(try HTTPAnswer(call), of: Int64(file.size), progress)
        return try await run(call, events, progress) { [self] in
            progress.advance(to: 0, of: Int64(file.size))
            progress.note(.start(nil))
            let response = try await transport.send(request, for: call, to: answer)
            let message = try answer.answer.message(response)
            guard response.head.isSuccess else {
                throw Self.httpStatus(response, body: answer.text(message))
            }
            return message
        }
    }

    private func uploadRequest(_ call: Call, _ file: FileSource) throws(HostError) -> HTTPRequest {
        var request = try HTTPRequest(call, method: "POST")
        request.stallTimeout = .milliseconds(try call["stallTimeoutMs"] ?? 60_000)
        let type: String = try call["contentType"] ?? "application/octet-stream"
        guard HTTPHeader.isValue(type) else {
            throw .invalidArgument("contentType", expected: "text in one line", got: "a control character in it")
        }
        if let field: String = try call["field"] {
            let path: String = try call["path"]
            let name: String = try call["fileName"] ?? path.split(separator: "/").last.map(String.init) ?? path
            let part = HTTPPart(name: field, fileName: name, contentType: type, content: .file(file))
            request.body = .multipart(try fields(call) + [part])
        } else {
            for name in ["fields", "fileName"] where call.arguments.has(name) {
                throw .invalidArgument(name, expected: "field, which makes the body a form", got: "no field")
            }
            request.body = .file(file)
            if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
                request.headers.append(HTTPHeader("Content-Type", type))
            }
        }
        return request
    }

    private func fields(_ call: Call) throws(HostError) -> [HTTPPart] {
        guard call.arguments.has("fields") else { return [] }
        return try (call.arguments.child("fields").data().members ?? []).map { (member) throws(HostError) in
            let text = member.value.stringValue ?? ""
            guard !member.key.utf8.contains(0) else {
                throw .invalidArgument("fields", expected: "names without NUL", got: JSON.string(member.key).summary)
            }
            return HTTPPart(name: member.key, fileName: nil, contentType: nil, content: .bytes(Array(text.utf8)))
        }
    }
}

/// Takes the answer to an upload, and tells how far that has come.
final class Upload: HTTPReceiver {
    let answer: HTTPAnswer
    private let size: Int64
    private let progress: Progress

    /// What the server said, for people.
    func text(_ message: Message) -> String? {
        guard message.json["type"] != "bytes", let body = message.json["body"] else { return nil }
        return String((body.stringValue ?? body.text).prefix(4096))
    }

    init(_ answer: HTTPAnswer, of size: Int64, _ progress: Progress) {
        (self.answer, self.size, self.progress) = (answer, size, progress)
    }

    func begin(_ response: HTTPResponse) throws(HostError) { try answer.begin(response) }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(HostError) -> Bool { try answer.receive(bytes) }

    func progress(sent: Int64, ofSent: Int64, received: Int64, ofReceived: Int64) {
        progress.advance(to: sent, of: ofSent > 0 ? ofSent : size)
    }
}
