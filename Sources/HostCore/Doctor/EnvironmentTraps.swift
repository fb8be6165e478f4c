/// Variables that change what a program does behind its back.
///
/// Workers and plugin-hosts do not get them; the parent, and what it prints, may still be changed by them.
enum EnvironmentTraps {
    private static let traps: [(prefix: String, effect: String)] = [
        ("LD_PRELOAD", "it loads other code into this program"), ("LD_AUDIT", "it loads other code into this program"),
        ("LD_LIBRARY_PATH", "libraries may come from there"), ("JSC_", "it changes the JavaScript engine"),
        ("GIO_", "it changes D-Bus and loads modules"), ("G_DEBUG", "warnings of GLib may end the program"),
        ("SSLKEYLOGFILE", "keys of TLS connections are written there"), ("OPENSSL_", "it changes OpenSSL"),
        ("DBUS_SYSTEM_BUS_ADDRESS", "services are looked for on another bus"), ("MALLOC_", "it changes memory"),
        ("SWIFT_", "it changes Swift's runtime"),
    ]

    static func findings(_ environment: [String: String]) -> [Finding] {
        let topic = "environment"
        var findings: [Finding] = []
        func warn(_ name: String, _ effect: String, fix: String) {
            findings.append(Finding(topic, SafeText.escape(name), .warning, "is set: \(effect)", fix: fix))
        }
        for name in environment.keys.sorted() {
            // Programs are known by their whole name, families of variables by how it begins.
            let trap = traps.first { $0.prefix.hasSuffix("_") ? name.hasPrefix($0.prefix) : name == $0.prefix }
            if let trap, name != "SWIFT_BACKTRACE" { warn(name, trap.effect, fix: "unset \(SafeText.escape(name))") }
        }
        for name in ["HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            guard let value = environment[name], !value.hasPrefix("/") else { continue }
            warn(name, "it is no absolute path and is ignored", fix: "Set it to an absolute path, or unset it.")
        }
        if environment["HOME"] == nil {
            findings.append(Finding(topic, "HOME", .warning, "is not set", fix: "Set HOME, or use --state DIR."))
        }
        if environment["APSULE_PLUGIN_PATH"] != nil {
            warn(
                "APSULE_PLUGIN_PATH", "plugins are listed from there, and for root it is ignored",
                fix: "Unset it unless you mean it.")
        }
        return findings.isEmpty
            ? [Finding(topic, "variables", .fine, "nothing that changes how apsule works")] : findings
    }
}
