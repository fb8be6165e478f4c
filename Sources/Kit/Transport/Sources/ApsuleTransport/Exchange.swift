internal import ApsuleKit
internal import CCurl
internal import Glibc

/// One request, with the redirects that follow it, on the transfer thread.
///
/// `@unchecked Sendable`: made by one thread, then the transfer thread's alone.
final class Exchange: @unchecked Sendable {
    enum Conclusion {
        case again
        case done(HTTPResponse)
        case failed(HostError)
    }

    private(set) var request: HTTPRequest
    let context: HTTPContext
    let receiver: any HTTPReceiver
    private let completion: @Sendable (Result<HTTPResponse, HostError>) -> Void

    private var handle: UnsafeMutableRawPointer?
    private var resources = EasyResources()
    /// Why one of our callbacks stopped the transfer.
    private var refusal: HostError?
    private var response: HTTPResponse?
    private var next: HTTPRequest?
    private var hasHead = false
    /// The address that the connection of this hop leads to was asked about when it was opened.
    private var hasAsked = false
    private var isPaused = false
    private var lastProgress: (Int64, Int64) = (0, 0)
    /// When something last arrived or left.
    private var lastMove = ContinuousClock.now

    init(
        _ request: HTTPRequest, _ context: HTTPContext, _ receiver: any HTTPReceiver,
        completion: @escaping @Sendable (Result<HTTPResponse, HostError>) -> Void
    ) {
        (self.request, self.context, self.receiver, self.completion) = (request, context, receiver, completion)
    }

    var isRunning: Bool { handle != nil }

    func succeed(_ response: HTTPResponse) { completion(.success(response)) }
    func fail(_ error: HostError) { completion(.failure(error)) }

    // MARK: - One hop

    /// Sets the handle up for the request.
    ///
    /// - Returns: why it cannot be sent.
    func prepare(_ handle: UnsafeMutableRawPointer) -> HostError? {
        (refusal, response, next, hasHead, hasAsked, isPaused) = (nil, nil, nil, false, false, false)
        (lastProgress, lastMove) = ((0, 0), .now)
        // The first hop was asked about by the gate, but as it was written; this is how it is read.
        guard context.allows(request.url.origin, nil) else { return context.denied(request.url, address: nil) }
        self.handle = handle
        let me = Unmanaged.passUnretained(self).toOpaque()
        resources.configure(handle, request, context, data: me)
        return nil
    }

    func detach() -> UnsafeMutableRawPointer? {
        defer { handle = nil }
        return handle
    }

    /// Frees what the handle used, when nothing uses it any more.
    func dispose() { resources = EasyResources() }

    func resume() {
        guard let handle, isPaused else { return }
        (isPaused, lastMove) = (false, .now)
        curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    /// What follows when libcurl is done with the hop.
    func conclude(_ code: CURLcode) -> Conclusion {
        guard let handle else { return .failed(.cancelled) }
        if let refusal { return .failed(refusal) }
        guard code == CURLE_OK else { return .failed(context.error(code, handle, request.url)) }
        do throws(HostError) {
            if !hasHead { try readHead() }
        } catch {
            return .failed(error)
        }
        if let next {
            request = next
            return .again
        }
        return response.map { .done($0) } ?? .failed(context.error(CURLE_GOT_NOTHING, handle, request.url))
    }

    private func readHead() throws(HostError) {
        guard let handle else { return }
        let head = HTTPHead(of: handle)
        // Others follow what only informs.
        guard head.status >= 200 else { return }
        hasHead = true
        if request.usesCookies {
            for line in head.setCookies { context.cookies.store(line, from: request.url) }
        }
        next = try request.redirected(by: head.status, to: head["location"], family: context.family)
        guard next == nil else { return }
        let response = HTTPResponse(head: head, url: request.url, redirects: request.redirects)
        self.response = response
        try receiver.begin(response)
    }

    // MARK: - What libcurl asks

    /// Takes note of a line of the head: an answer may have no body for a long time.
    ///
    /// - Returns: whether to go on.
    func takeHeader(isEnd: Bool) -> Bool {
        lastMove = .now
        guard isEnd, !hasHead else { return true }
        do throws(HostError) {
            try readHead()
            return true
        } catch {
            refusal = error
            return false
        }
    }

    /// Takes a piece of the body; what curl is to be told.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        do throws(HostError) {
            if !hasHead { try readHead() }
            // A redirect's own text is for nobody.
            if next != nil { return bytes.count }
            if try receiver.receive(bytes) { return bytes.count }
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        } catch {
            refusal = error
            // Any other number ends the transfer.
            return bytes.count + 1
        }
    }

    /// Whether a connection to the address may be opened.
    func mayConnect(to address: String) -> Bool {
        hasAsked = true
        if context.proxy(for: request.url) != nil { return true }
        if context.allows(request.url.origin, address) { return true }
        refusal = context.denied(request.url, address: address)
        return false
    }

    /// Whether the request may go over this connection, which an earlier one may have opened.
    func maySend(to address: String) -> Bool { hasAsked || mayConnect(to: address) }

    /// How far it has come; called each second, too, where there is a limit to silence.
    ///
    /// - Returns: whether to go on.
    func progress(sent: Int64, ofSent: Int64, received: Int64, ofReceived: Int64) -> Bool {
        guard (sent, received) != lastProgress else { return checkStall() }
        (lastProgress, lastMove) = ((sent, received), .now)
        guard next == nil else { return true }
        receiver.progress(sent: sent, ofSent: ofSent, received: received, ofReceived: ofReceived)
        return true
    }

    private func checkStall() -> Bool {
        guard let limit = request.stallTimeout, !isPaused, .now - lastMove >= limit else { return true }
        refusal = context.stalled(request.url, limit)
        return false
    }
}

extension HTTPHead {
    /// The last head that the handle has received.
    ///
    /// Source: <https://curl.se/libcurl/c/curl_easy_nextheader.html>
    fileprivate init(of handle: UnsafeMutableRawPointer) {
        var status = 0
        var version = 0
        ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        ccurl_get_long(handle, CURLINFO_HTTP_VERSION, &version)
        var headers: [HTTPHeader] = []
        var header: UnsafeMutablePointer<curl_header>?
        while let next = curl_easy_nextheader(handle, UInt32(CURLH_HEADER), -1, header) {
            headers.append(HTTPHeader(String(cString: next.pointee.name), String(cString: next.pointee.value)))
            header = next
        }
        let versions = [1: "1.0", 2: "1.1", 3: "2", 30: "3"]
        self.init(status: status, version: versions[version] ?? "1.1", headers: headers)
    }
}
