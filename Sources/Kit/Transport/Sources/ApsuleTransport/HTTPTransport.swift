public import ApsuleKit
internal import Synchronization

/// A project's HTTP: one thread, one set of connections and one cookie jar, however many families use it.
///
///     let transport = HTTPTransport.shared(by: project, family: "http")
///     let response = try await transport.send(request, for: call, to: receiver)
///
/// Every connection is asked about with `Call.allows(place:at:)` before it is opened, and again for every redirect.
public final class HTTPTransport: Sendable {
    private let shared: SharedTransport
    private let family: String
    private let authorities: [UInt8]
    private let proxies = Proxies()

    public var cookies: CookieJar { shared.cookies }

    /// - Parameter project: whose settings may name `certificateAuthorities`, the PEM text of the owner's own ones.
    public init(_ project: Project, family: String) {
        shared = SharedTransport.of(project.id)
        self.family = family
        authorities = Array((project.settings["certificateAuthorities"]?.stringValue ?? "").utf8)
    }

    /// Sends a request and gives its answer to `receiver`.
    ///
    /// - Throws: `permission.denied`, `host.cancelled`, what `receiver` throws, and `<family>.` `dns_failed`,
    ///   `connect_failed`, `timed_out`, `certificate_invalid`, `tls_failed`, `connection_lost`, `invalid_response`,
    ///   `invalid_redirect`, `too_many_redirects`, `proxy_failed`, `body_changed`.
    public func send(_ request: HTTPRequest, for call: Call, to receiver: some HTTPReceiver) async throws
        -> HTTPResponse
    {
        let answer = OneShot<HTTPResponse>()
        let transfer = start(request, for: call, to: receiver) { answer.finish($0.mapError { $0 }) }
        do {
            return try await answer.value()
        } catch {
            transfer.cancel()
            throw error
        }
    }

    /// As `send`, with a closure that gets the answer on the transfer thread.
    @discardableResult
    public func start(
        _ request: HTTPRequest, for call: Call, to receiver: some HTTPReceiver,
        completion: @escaping @Sendable (Result<HTTPResponse, HostError>) -> Void
    ) -> HTTPTransfer {
        let context = HTTPContext(
            family: family, cookies: cookies, proxies: proxies, authorities: authorities,
            allows: { place, address in call.allows(place: place, at: address) })
        let exchange = Exchange(request, context, receiver, completion: completion)
        shared.loop.start(exchange)
        return HTTPTransfer(loop: shared.loop, exchange: exchange)
    }
}

/// A request that runs.
public struct HTTPTransfer: Sendable {
    let loop: TransferLoop
    let exchange: Exchange

    /// Ends it with `host.cancelled`, where it has not ended.
    public func cancel() { loop.cancel(exchange) }

    /// Offers again what the receiver did not take.
    public func resume() { loop.resume(exchange) }
}

/// What the families of one project share, while one of them is there.
private final class SharedTransport: Sendable {
    let loop = TransferLoop()
    let cookies = CookieJar()

    private struct Weak { weak var value: SharedTransport? }
    private static let all = Mutex([String: Weak]())

    /// A process serves one project; tests serve several, by different ids.
    static func of(_ project: String) -> SharedTransport {
        all.withLock { all in
            if let known = all[project]?.value { return known }
            let made = SharedTransport()
            all = all.filter { $0.value.value != nil }
            all[project] = Weak(value: made)
            return made
        }
    }

    deinit { loop.stop() }
}
