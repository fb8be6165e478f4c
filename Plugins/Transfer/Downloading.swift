import ApsuleKit
import ApsuleTransport

extension TransferFamily {
    /// Fetches a file, and goes on where it was when the connection is lost and the server can do so.
    ///
    /// - Parameter call: {url, path, method, headers?, query?, json? or text?, overwrite, retries, stallTimeoutMs (ms),
    ///   cookies, maxRedirects, connectTimeoutMs (ms)}
    /// - Returns: {path, bytes, status, url, headers, resumed}
    /// - Throws: `transfer.http_status`, `already_exists`, `full`, `changed`, and what `HTTPTransport.send` does.
    /// - Source: <https://www.rfc-editor.org/rfc/rfc9110#name-range-requests>
    func download(_ call: Call, _ events: EventStream) async throws -> Message {
        let request = try downloadRequest(call)
        let path: String = try call["path"]
        let overwrites: Bool = try call["overwrite"] ?? true
        let retries: Int = try call["retries"] ?? 5
        let progress = Progress()
        let file = Download(try FileDraft(call, path: path), progress)
        return try await run(call, events, progress) { [self] in
            let (response, resumed) = try await fetch(request, call, file, progress, retries)
            try file.draft.commit(replacing: overwrites)
            return Message([
                "path": .string(path), "bytes": .int(file.received), "status": .int(Int64(response.head.status)),
                "url": .string(response.url.text), "headers": response.head.fields.escaped, "resumed": .int(resumed),
            ])
        }
    }

    private func downloadRequest(_ call: Call) throws(HostError) -> HTTPRequest {
        var request = try HTTPRequest(call)
        // Of a compressed answer the bytes that are missing could not be named.
        request.acceptsCompression = false
        request.stallTimeout = .milliseconds(try call["stallTimeoutMs"] ?? 60_000)
        guard !request.headers.contains(where: { ["range", "if-range"].contains($0.name.lowercased()) }) else {
            throw .invalidArgument("headers", expected: "no Range, which is the transfer's own", got: "one")
        }
        return request
    }

    /// Sends the request, and what is missing again, until all is there.
    private func fetch(
        _ first: HTTPRequest, _ call: Call, _ file: Download, _ progress: Progress, _ retries: Int
    ) async throws -> (HTTPResponse, Int64) {
        var request = first
        var resumed: Int64 = 0
        while true {
            do {
                return (try await transport.send(request, for: call, to: file), resumed)
            } catch let error as HostError {
                guard resumed < Int64(retries), Self.passing.contains(error.code), let rest = file.rest else {
                    throw error
                }
                // The server may need a moment.
                let delay = min(Int64(250) << resumed, 10_000)
                resumed += 1
                progress.note(.resuming(error, delay: delay))
                try await Task.sleep(for: .milliseconds(delay))
                request = first
                request.headers += rest
            }
        }
    }

    private static let passing: Set = ["transfer.connection_lost", "transfer.connect_failed", "transfer.timed_out"]
}
