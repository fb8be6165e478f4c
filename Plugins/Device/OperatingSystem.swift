import ApsuleKit
import Glibc

/// The distribution, from os-release.
struct OperatingSystem {
    let name: String
    let version: String?
    let json: JSON

    init(_ files: SystemFiles) {
        var release = files.variables("etc/os-release")
        if release.isEmpty { release = files.variables("usr/lib/os-release") }
        name = release["NAME"] ?? "Linux"
        version = release["VERSION_ID"]
        json = [
            "id": .string(release["ID"] ?? "linux"),
            "name": .string(name),
            "version": JSON(version),
            "codename": JSON(release["VERSION_CODENAME"]),
            "prettyName": .string(release["PRETTY_NAME"] ?? name),
        ]
    }
}

/// The running kernel.
///
/// Source: <https://man7.org/linux/man-pages/man2/uname.2.html>
struct Kernel {
    let hostname: String
    let machine: String
    let json: JSON

    init() {
        var names = utsname()
        uname(&names)
        hostname = Self.text(&names.nodename)
        machine = Self.text(&names.machine)
        json = [
            "name": .string(Self.text(&names.sysname)),
            "release": .string(Self.text(&names.release)),
            "version": .string(Self.text(&names.version)),
        ]
    }

    /// A C array of characters that ends with a zero.
    private static func text<T>(_ array: inout T) -> String {
        withUnsafeBytes(of: &array) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
