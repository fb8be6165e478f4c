internal import ApsuleKit
internal import CCurl
internal import Glibc

/// What an easy handle refers to while it runs, and how it is set up for a request.
///
/// Source: <https://curl.se/libcurl/c/curl_easy_setopt.html>
struct EasyResources: ~Copyable {
    private var lines: UnsafeMutablePointer<curl_slist>?
    private var form: OpaquePointer?
    private var readers: [BodyReader] = []

    deinit {
        curl_slist_free_all(lines)
        curl_mime_free(form)
    }

    /// - Parameter data: the `Exchange`, for every callback.
    mutating func configure(
        _ handle: UnsafeMutableRawPointer, _ request: HTTPRequest, _ context: HTTPContext, data: UnsafeMutableRawPointer
    ) {
        ccurl_set_text(handle, CURLOPT_URL, request.url.text)
        ccurl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
        // A cancelled request must not wait for the thread that resolves its host.
        ccurl_set_long(handle, CURLOPT_QUICK_EXIT, 1)
        ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.milliseconds)
        // Connections of one TLS host are shared where it speaks HTTP/2, instead of opened for each request.
        ccurl_set_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        ccurl_set_long(handle, CURLOPT_PIPEWAIT, 1)
        if request.acceptsCompression { ccurl_set_text(handle, CURLOPT_ACCEPT_ENCODING, "") }
        if let stall = request.stallTimeout {
            // The exchange looks for itself, each second; libcurl's own measure is too slow, and makes the seconds pass.
            ccurl_set_long(handle, CURLOPT_LOW_SPEED_LIMIT, 1)
            ccurl_set_long(handle, CURLOPT_LOW_SPEED_TIME, stall.milliseconds / 1000 + 60)
        }
        ccurl_set_text(handle, CURLOPT_PROXY, context.proxy(for: request.url) ?? "")
        ccurl_set_text(handle, CURLOPT_NOPROXY, "")
        context.trust(handle)
        setCallbacks(handle, data)
        setBody(handle, request)
        setHeaders(handle, request, context)
    }

    private func setCallbacks(_ handle: UnsafeMutableRawPointer, _ data: UnsafeMutableRawPointer) {
        ccurl_set_write(handle, takeBytes, takeHeader)
        ccurl_set_pointer(handle, CURLOPT_WRITEDATA, data)
        ccurl_set_pointer(handle, CURLOPT_HEADERDATA, data)
        ccurl_set_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        ccurl_set_open_socket(handle, openSocket)
        ccurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, data)
        ccurl_set_before_request(handle, beforeRequest)
        ccurl_set_pointer(handle, CURLOPT_PREREQDATA, data)
        ccurl_set_progress(handle, noteProgress)
        ccurl_set_pointer(handle, CURLOPT_XFERINFODATA, data)
        ccurl_set_long(handle, CURLOPT_NOPROGRESS, 0)
    }

    private mutating func setBody(_ handle: UnsafeMutableRawPointer, _ request: HTTPRequest) {
        switch request.body {
        case .none:
            // A method that means a body says that it is empty.
            if ["POST", "PUT", "PATCH"].contains(request.method) { send(handle, BodyReader([])) }
        case .bytes(let bytes): send(handle, BodyReader(bytes))
        case .file(let file): send(handle, BodyReader(file))
        case .multipart(let parts): send(handle, parts)
        }
        switch request.method {
        case "GET": if case .none = request.body { return }
        case "HEAD": ccurl_set_long(handle, CURLOPT_NOBODY, 1)
        default: break
        }
        ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method)
    }

    private mutating func send(_ handle: UnsafeMutableRawPointer, _ reader: BodyReader) {
        ccurl_set_long(handle, CURLOPT_POST, 1)
        ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(reader.size))
        ccurl_set_read(handle, readBody, seekBody)
        let data = Unmanaged.passUnretained(reader).toOpaque()
        ccurl_set_pointer(handle, CURLOPT_READDATA, data)
        ccurl_set_pointer(handle, CURLOPT_SEEKDATA, data)
        readers.append(reader)
    }

    /// Makes the form that is sent.
    ///
    /// Source: <https://curl.se/libcurl/c/curl_mime_init.html>
    private mutating func send(_ handle: UnsafeMutableRawPointer, _ parts: [HTTPPart]) {
        form = curl_mime_init(handle)
        for part in parts {
            guard let field = curl_mime_addpart(form) else { continue }
            curl_mime_name(field, part.name)
            if let name = part.fileName { curl_mime_filename(field, name) }
            if let type = part.contentType { curl_mime_type(field, type) }
            let reader =
                switch part.content {
                case .bytes(let bytes): BodyReader(bytes)
                case .file(let file): BodyReader(file)
                }
            readers.append(reader)
            curl_mime_data_cb(
                field, curl_off_t(reader.size), readBody, seekBody, nil, Unmanaged.passUnretained(reader).toOpaque())
        }
        ccurl_set_pointer(handle, CURLOPT_MIMEPOST, UnsafeMutableRawPointer(form))
    }

    private mutating func setHeaders(
        _ handle: UnsafeMutableRawPointer, _ request: HTTPRequest, _ context: HTTPContext
    ) {
        var names: Set<String> = []
        for header in request.headers {
            names.insert(header.lowercasedName)
            append(header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
        }
        if !names.contains("user-agent") { append("User-Agent: Apsule") }
        // Without a type of the caller's there is none: libcurl would call every body a form.
        if case .multipart = request.body {} else if !names.contains("content-type") { append("Content-Type:") }
        // Servers that do not know it cost a second.
        append("Expect:")
        ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, lines)
        if request.usesCookies, !names.contains("cookie"), let cookies = context.cookies.header(for: request.url) {
            ccurl_set_text(handle, CURLOPT_COOKIE, cookies)
        }
    }

    private mutating func append(_ line: String) { lines = curl_slist_append(lines, line) ?? lines }
}

extension Duration {
    var milliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}
