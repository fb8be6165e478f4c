import Foundation
import HostCore
import TestPrograms

/// The programs in `Programs/`: one that tries things, one that takes a system call away.
enum Programs {
    private static let folder = Workshop.repository.appending(path: "Tests/ProcessTests/Programs")
    static let probe = Workshop.program("probe", [folder.appending(path: "probe.c")])
    static let without = Workshop.program("without", [folder.appending(path: "without.c")])

    /// Runs a program as somebody without privileges; only root can.
    static func runUnprivileged(_ program: String, _ arguments: [String]) throws -> Workshop.Output {
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
        return try Workshop.run("/usr/bin/setpriv", user + [program] + arguments)
    }
}

extension Workshop.Output {
    /// What the probe's line that begins with these words says behind its colon.
    subscript(words: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix(words + ": ") }.map { String($0.dropFirst(words.count + 2)) }
    }

    /// The probe's indented lines.
    var details: [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

/// What a confined program needs to start at all, sanitizer included.
let systemRules = ["--ro", "/usr", "--ro", "/lib", "--ro", "/lib64", "--ro", "/etc/ld.so.cache", "--dev", "/dev/null"]

let isRoot = geteuid() == 0
