public import ApsuleKit

/// One request, checked and ready to be sent.
public struct HTTPRequest: Sendable {
    public var url: WebURL
    public var method: String
    public var headers: [HTTPHeader]
    public var body: HTTPBody
    /// How many redirects are followed before it fails; with 0 a redirect is an answer like others.
    public var maximumRedirects = 10
    var redirects = 0
    /// Whether the project's cookies are sent and kept.
    public var usesCookies = true
    /// To connect and agree on a protocol.
    public var connectTimeout = Duration.seconds(30)
    /// How long nothing may arrive or leave; nil for ever.
    public var stallTimeout: Duration?
    /// Whether an answer may be compressed on its way.
    public var acceptsCompression = true

    public init(_ method: String = "GET", _ url: WebURL, headers: [HTTPHeader] = [], body: HTTPBody = .none) {
        (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
    }

    /// - Throws: `host.invalid_argument` for what is no method, and for those that mean something to the connection.
    public static func method(_ text: String, path: String = "method") throws(HostError) -> String {
        let name = text.uppercased()
        let isUsual = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(name)
        guard HTTPHeader.isToken(text), !["CONNECT", "TRACE", "TRACK"].contains(name) else {
            throw .invalidArgument(path, expected: "an HTTP method", got: JSON.string(text).summary)
        }
        return isUsual ? name : text
    }

    /// What follows an answer, or nil where it is the last.
    ///
    /// What a redirect asks for is another request: a form that was posted is not posted again, except where the server
    /// insists (307, 308), and what was a secret between the caller and one origin is not told to another.
    ///
    /// Source: <https://fetch.spec.whatwg.org/#http-redirect-fetch>
    func redirected(by status: Int, to location: String?, family: String) throws(HostError) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(status), let location, maximumRedirects > 0 else { return nil }
        guard redirects < maximumRedirects else {
            throw HostError(
                "\(family).too_many_redirects", "The server redirects more than \(maximumRedirects) times.",
                details: ["limit": .int(Int64(maximumRedirects))])
        }
        guard let target = url.resolving(location, schemes: ["https", "http"]) else {
            throw HostError(
                "\(family).invalid_redirect", "The server redirects to what is no http or https URL.",
                details: ["status": .int(Int64(status))])
        }
        var next = self
        next.url = target
        next.redirects += 1
        if status == 303 && !["GET", "HEAD"].contains(method) || [301, 302].contains(status) && method == "POST" {
            next.method = "GET"
            next.body = .none
            next.headers.removeAll { $0.lowercasedName.hasPrefix("content-") }
        }
        if target.origin != url.origin { next.headers.removeAll(where: \.isCredential) }
        return next
    }
}

/// An answer, after the last redirect.
public struct HTTPResponse: Sendable {
    public let head: HTTPHead
    public let url: WebURL
    public let redirects: Int
}

/// Takes an answer as it arrives.
///
/// Everything runs on the transfer thread, which all transfers of the project share: nothing may wait there.
public protocol HTTPReceiver: AnyObject, Sendable {
    /// The head of the answer that counts, after redirects.
    func begin(_ response: HTTPResponse) throws(HostError)

    /// Bytes of the body, decoded.
    ///
    /// - Returns: false to get the same bytes again after `HTTPTransfer.resume`.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HostError) -> Bool

    /// How far the transfer has come, at most once for each round of the transfer thread; totals are 0 where unknown.
    func progress(sent: Int64, ofSent: Int64, received: Int64, ofReceived: Int64)
}

extension HTTPReceiver {
    public func progress(sent: Int64, ofSent: Int64, received: Int64, ofReceived: Int64) {}
}
