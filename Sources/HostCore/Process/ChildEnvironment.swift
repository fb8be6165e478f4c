/// The environment that a child gets: what is on the list and nothing else.
///
/// Variables reach deep into libraries: `LD_PRELOAD` and `GIO_MODULE_DIR` load code, `JSC_*` and `SWIFT_*` change the
/// engine, `SSLKEYLOGFILE` writes keys to a file. So names are let through one by one.
public struct ChildEnvironment: Sendable {
    private var variables: [String: String]

    private static let passed: Set<String> = [
        "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ",
        "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
        "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE",
        "DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    ]
    private static let locale: Set<String> = [
        "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
        "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
    ]
    /// Not `HTTP_PROXY`: a CGI server sets it from a request's header, so that clients ignore it.
    private static let proxies: Set<String> = [
        "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    ]

    /// What of `environment` a child may see.
    ///
    /// - Parameter proxies: whether the child speaks HTTP for a project.
    public init(from environment: [String: String] = Installation.processEnvironment(), proxies: Bool = false) {
        let names = Self.passed.union(Self.locale).union(proxies ? Self.proxies : [])
        variables = environment.filter { names.contains($0.key) }
        variables["PATH"] = "/usr/local/bin:/usr/bin:/bin"
        // The backtracer reads the whole process and may hang; a crash is told by the exit status.
        variables["SWIFT_BACKTRACE"] = "enable=no"
    }

    /// A variable that the host itself gives; nil takes it away.
    public subscript(name: String) -> String? {
        get { variables[name] }
        set { variables[name] = newValue }
    }

    /// `NAME=VALUE`, sorted.
    public var entries: [String] { variables.map { "\($0.key)=\($0.value)" }.sorted() }
}
