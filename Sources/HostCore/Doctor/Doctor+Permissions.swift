internal import ApsuleKit
internal import CHostCore
internal import Glibc

/// Who can be asked, what was decided, and whether somebody else could have written it.
extension Doctor {
    func examinePermissions(_ host: Host?) -> [Finding] {
        guard let paths else { return [terminal(nil)] }
        return [terminal(paths)]
            + [paths.state, paths.data, paths.configuration].compactMap { folder($0, paths) } + files(paths)
            + [space(paths), grants(paths)].compactMap { $0 } + policy(paths, host)
    }

    private var topic: String { "permissions" }

    private func terminal(_ paths: HostPaths?) -> Finding {
        let terminal = host_openat(AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY, 0)
        if terminal >= 0 {
            close(terminal)
            return Finding(topic, "terminal", .fine, "a person can be asked here")
        }
        return Finding(
            topic, "terminal", .warning, "there is no terminal",
            reason: "Nobody can be asked: what no policy or earlier answer allows is denied.",
            fix: "Run it at a terminal" + (paths.map { ", or decide in \($0.configuration)/policy.json." } ?? "."))
    }

    private func folder(_ path: String, _ paths: HostPaths) -> Finding? {
        var info = stat()
        guard lstat(path, &info) == 0 else {
            return errno == ENOENT
                ? nil
                : Finding(topic, path, .problem, String(cString: strerror(errno)), fix: "Make it yours, mode 0700.")
        }
        let isConfiguration = path == paths.configuration
        if info.st_mode & S_IFMT != S_IFDIR {
            return Finding(
                topic, path, .problem, info.st_mode & S_IFMT == S_IFLNK ? "is a symbolic link" : "is no folder",
                reason: "State is kept in a folder that nobody can swap.", fix: "Move it away, or use --state DIR.")
        }
        if info.st_uid != geteuid() {
            return Finding(
                topic, path, .problem, "belongs to user \(info.st_uid), not to \(geteuid())",
                fix: "Give it to the user who runs apsule, or use --state DIR.")
        }
        let open = isConfiguration ? info.st_mode & 0o022 : info.st_mode & 0o077
        if open != 0 {
            return Finding(
                topic, path, .warning, "is open to others (mode \(Self.mode(info)))", fix: "chmod 700 \(path)")
        }
        return Finding(topic, path, .fine, "mode \(Self.mode(info))")
    }

    private func files(_ paths: HostPaths) -> [Finding] {
        ["grants.db", "audit.jsonl"].compactMap { name in
            var info = stat()
            let path = "\(paths.state)/\(name)"
            guard lstat(path, &info) == 0 else { return nil }
            guard info.st_mode & S_IFMT == S_IFREG, info.st_uid == geteuid(), info.st_mode & 0o022 == 0 else {
                return Finding(
                    topic, name, .problem, "\(path) is not a file that is yours and that nobody else may write",
                    reason: "Somebody else may have written it; nothing runs until you have looked.",
                    fix: "Look at \(path), and move it away.")
            }
            guard info.st_mode & 0o044 == 0 else {
                return Finding(
                    topic, name, .warning, "others may read it (mode \(Self.mode(info)))", fix: "chmod 600 \(path)")
            }
            return Finding(topic, name, .fine, "mode \(Self.mode(info)), \(info.st_size) bytes")
        }
    }

    private func space(_ paths: HostPaths) -> Finding? {
        var info = statvfs()
        guard statvfs(paths.state, &info) == 0 else { return nil }
        let free = UInt64(info.f_bavail) * UInt64(info.f_frsize)
        guard free < 8 << 20 else { return nil }
        return Finding(
            topic, "space", .warning, "\(free >> 10) KiB are left on the disk of \(paths.state)",
            reason: "Answers that cannot be saved hold for one run only.", fix: "Free some space.")
    }

    /// Opens the store only where there is one: looking must not make it.
    private func grants(_ paths: HostPaths) -> Finding? {
        guard FileReader.exists("\(paths.state)/grants.db") else {
            return Finding(topic, "grants", .fine, "nothing was decided for good yet")
        }
        do throws(HostError) {
            let grants = try GrantStore(state: paths.state).grants()
            let projects = Set(grants.map(\.identity)).count
            return Finding(topic, "grants", .fine, "\(grants.count) lasting decisions about \(projects) projects")
        } catch {
            return Finding(topic, "grants", error)
        }
    }

    private func policy(_ paths: HostPaths, _ host: Host?) -> [Finding] {
        do throws(HostError) {
            let policy = try Policy(configuration: paths.configuration)
            guard FileReader.exists(policy.path) else {
                return [Finding(topic, "policy", .fine, "there is none; a person decides")]
            }
            return [
                Finding(
                    topic, "policy", .fine,
                    "\(policy.path) decides for \(policy.projectCount) project\(policy.projectCount == 1 ? "" : "s")")
            ]
                + (host.map { policy.warnings($0) } ?? []).map { Finding(topic, "policy", $0, .warning) }
        } catch {
            return [Finding(topic, "policy", error)]
        }
    }

    private static func mode(_ info: stat) -> String { "0" + String(info.st_mode & 0o7777, radix: 8) }
}
