internal import ApsuleKit
internal import CPublicSuffix
internal import Glibc
internal import Synchronization

/// The cookies of one running project, shared by everything of it that speaks HTTP; they end with it.
///
/// Source: <https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis>
public final class CookieJar: Sendable {
    private struct Entry {
        var cookie: Cookie
        /// Older ones come first, and go first.
        let order: UInt64
    }

    private struct State {
        var entries: [Cookie.Identity: Entry] = [:]
        var perDomain: [String: Int] = [:]
        var last: UInt64 = 0

        subscript(identity: Cookie.Identity) -> Entry? {
            get { entries[identity] }
            set {
                let change = (newValue == nil ? 0 : 1) - (entries[identity] == nil ? 0 : 1)
                entries[identity] = newValue
                let count = perDomain[identity.domain, default: 0] + change
                perDomain[identity.domain] = count == 0 ? nil : count
            }
        }
    }

    private let state = Mutex(State())
    private let clock: @Sendable () -> Int64

    private static let greatestPerDomain = 180
    private static let greatestCount = 3000

    /// - Parameter clock: milliseconds of the wall clock.
    public init(clock: @escaping @Sendable () -> Int64 = { CookieJar.now }) { self.clock = clock }

    /// Keeps what a `Set-Cookie` line of a server says, where it may say so.
    ///
    /// - Returns: whether it was taken.
    @discardableResult
    public func store(_ line: String, from url: WebURL) -> Bool {
        guard let said = SetCookie(line, now: clock()) else { return false }
        return store(said, from: url)
    }

    /// Sets a cookie as an answer of the URL would.
    ///
    /// - Returns: whether its host may have such a cookie.
    public func set(_ cookie: CookieSetting, for url: WebURL) -> Bool { store(cookie.said(now: clock()), from: url) }

    private func store(_ said: SetCookie, from url: WebURL) -> Bool {
        guard let domain = Self.domain(said, url), said.keepsPromise, !said.isSecure || url.isSecure else {
            return false
        }
        let cookie = Cookie(
            name: said.name, value: said.value, domain: domain.name, isHostOnly: domain.isHostOnly,
            path: said.path ?? Cookie.defaultPath(of: url), expires: said.expires, isSecure: said.isSecure,
            isHTTPOnly: said.isHTTPOnly, sameSite: said.sameSite)
        let now = clock()
        return state.withLock { state in
            // An insecure answer may be anybody's: it does not replace what a secure one has set.
            let isShadow =
                !url.isSecure
                && state.entries.values.contains { entry in
                    let other = entry.cookie
                    return other.isSecure && other.name == cookie.name && Cookie.path(other.path, covers: cookie.path)
                        && (other.domain == cookie.domain || other.domain.hasSuffix("." + cookie.domain)
                            || cookie.domain.hasSuffix("." + other.domain))
                }
            if isShadow { return false }
            if let expires = cookie.expires, expires <= now {
                state[cookie.identity] = nil
                return true
            }
            state.last += 1
            let order = state[cookie.identity]?.order ?? state.last
            state[cookie.identity] = Entry(cookie: cookie, order: order)
            Self.makeRoom(&state, domain: cookie.domain, now: now)
            return true
        }
    }

    /// The `Cookie` header of a request; nil where there is none.
    public func header(for url: WebURL) -> String? {
        let matching = entries { $0.matches(url) }
            .sorted { ($1.cookie.path.utf8.count, $0.order) < ($0.cookie.path.utf8.count, $1.order) }
        guard !matching.isEmpty else { return nil }
        return matching.map { $0.cookie.name.isEmpty ? $0.cookie.value : "\($0.cookie.name)=\($0.cookie.value)" }
            .joined(separator: "; ")
    }

    /// The cookies that fit, the oldest first.
    public func list(where fits: (Cookie) -> Bool = { _ in true }) -> [Cookie] {
        entries(where: fits).sorted { $0.order < $1.order }.map(\.cookie)
    }

    /// Removes the cookies that fit, and says how many there were.
    public func remove(where fits: (Cookie) -> Bool = { _ in true }) -> Int {
        state.withLock { state in
            let found = state.entries.filter { fits($0.value.cookie) }.map(\.key)
            for identity in found { state[identity] = nil }
            return found.count
        }
    }

    private func entries(where fits: (Cookie) -> Bool) -> [Entry] {
        let now = clock()
        return state.withLock { state in
            Self.dropExpired(&state, now: now)
            return state.entries.values.filter { fits($0.cookie) }
        }
    }

    private static func dropExpired(_ state: inout State, now: Int64) {
        for (identity, entry) in state.entries where entry.cookie.expires.map({ $0 <= now }) == true {
            state[identity] = nil
        }
    }

    private static func makeRoom(_ state: inout State, domain: String, now: Int64) {
        let isCrowded = state.perDomain[domain, default: 0] > greatestPerDomain
        guard isCrowded || state.entries.count > greatestCount else { return }
        dropExpired(&state, now: now)
        for isFull in [isCrowded, false] {
            let all = state.entries.filter { !isFull || $0.key.domain == domain }
            let limit = isFull ? greatestPerDomain : greatestCount
            guard all.count > limit, let oldest = all.min(by: { $0.value.order < $1.value.order }) else { continue }
            state[oldest.key] = nil
        }
    }

    /// Whose cookie it would be; nil where the sender may not set one for that domain.
    private static func domain(_ said: SetCookie, _ url: WebURL) -> (name: String, isHostOnly: Bool)? {
        guard let named = said.domain else { return (url.host, true) }
        guard let domain = (try? WebURL("http://\(named)/", schemes: ["http"]))?.host else { return nil }
        if url.isAddress || PublicSuffixes.contains(domain) { return domain == url.host ? (domain, true) : nil }
        return Cookie.domain(domain, covers: url) ? (domain, false) : nil
    }

    /// Milliseconds of the wall clock.
    public static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// The domains under which anybody can have one: `com`, `co.uk`, `github.io`.
///
/// Source: <https://rockdaboot.github.io/libpsl/>; Debian's package `publicsuffix` has the list.
enum PublicSuffixes {
    // nonisolated(unsafe): loaded once, only read, never freed.
    private nonisolated(unsafe) static let list = psl_latest(nil) ?? psl_builtin()

    static func contains(_ domain: String) -> Bool { psl_is_public_suffix(list, domain) != 0 }
}
