internal import Glibc

/// The proxies of the environment: `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`.
///
/// Source: <https://curl.se/libcurl/c/libcurl-env.html>
struct Proxies: Sendable {
    private let byScheme: [String: String]
    private let exceptions: [String]

    init(_ environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }) {
        func value(_ names: String...) -> String? { names.lazy.compactMap(environment).first { !$0.isEmpty } }
        let all = value("all_proxy", "ALL_PROXY")
        var byScheme: [String: String] = [:]
        // Not HTTP_PROXY: a web server sets it from a header of whoever asks.
        byScheme["http"] = value("http_proxy") ?? all
        byScheme["https"] = value("https_proxy", "HTTPS_PROXY") ?? all
        self.byScheme = byScheme
        exceptions = (value("no_proxy", "NO_PROXY") ?? "").lowercased().split { $0 == "," || $0 == " " }.map(
            String.init)
    }

    /// The proxy that leads to a URL; nil where the way is direct.
    func proxy(for url: WebURL) -> String? {
        guard let proxy = byScheme[url.scheme], !isException(url) else { return nil }
        return proxy
    }

    private func isException(_ url: WebURL) -> Bool {
        let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        return exceptions.contains { exception in
            if exception == "*" { return true }
            let name = exception.hasPrefix(".") ? String(exception.dropFirst()) : exception
            return host == name || "\(host):\(url.port)" == name || !url.isAddress && host.hasSuffix("." + name)
        }
    }
}
