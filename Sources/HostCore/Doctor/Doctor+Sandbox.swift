internal import ApsuleKit
internal import Glibc

/// What this kernel can take away from a worker, found out by starting a program confined.
extension Doctor {
    func examineSandbox() -> [Finding] {
        let topic = "sandbox"
        var findings: [Finding] = []
        do throws(HostError) {
            let strength = try launched()
            let abi = Int(strength["landlock"]?.intValue ?? 0)
            if abi == 0 {
                findings.append(
                    Finding(
                        topic, "landlock", .problem, "this kernel has no Landlock",
                        reason: "Workers are not started unconfined.",
                        fix: "Boot a kernel with landlock in /sys/kernel/security/lsm (lsm=landlock,…)."))
            } else {
                let reach = abi >= 6 ? "files, TCP, signals" : abi >= 4 ? "files, TCP" : "files only"
                findings.append(
                    Finding(
                        topic, "landlock", abi >= 4 ? .fine : .warning, "ABI \(abi): \(reach)",
                        reason: abi >= 4 ? nil : "The gate alone stands between a script and the network.",
                        fix: abi >= 4 ? nil : "A kernel of 6.7 or later has rules for TCP (Debian: bookworm-backports)."
                    ))
            }
            let filtered = strength["filter"] == true
            findings.append(
                Finding(
                    topic, "seccomp", filtered ? .fine : .warning,
                    filtered ? "system calls can be filtered" : "system calls cannot be filtered",
                    reason: filtered ? nil : "Plugins in processes of their own are not started.",
                    fix: filtered ? nil : "Boot a kernel with CONFIG_SECCOMP_FILTER."))
        } catch {
            findings.append(Finding(topic, "launcher", error))
        }
        findings.append(userNamespaces())
        if geteuid() == 0 {
            findings.append(
                Finding(
                    topic, "user", .warning, "apsule runs as root",
                    reason: "Projects are confined all the same; an ordinary user has less to lose.",
                    fix: "Run it as an ordinary user."))
        }
        return findings
    }

    /// Starts `true` through the launcher, and reads what it reports.
    private func launched() throws(HostError) -> JSON {
        let launcher = installation.folder + "/apsule-launch"
        guard access(launcher, X_OK) == 0 else {
            throw HostError(
                "host.installation_damaged", "\(launcher) is missing.",
                details: ["reason": "It confines workers before they start.", "fix": "Build or install apsule again."])
        }
        let (mine, theirs) = try OwnedFile.socketPair()
        let child = try ChildProcess.start(
            ChildCommand(
                launcher,
                [
                    "--best-effort", "--no-tcp", "--scoped", "--filter", "--ro", "/usr", "--ro", "/lib", "--ro",
                    "/lib64",
                    "--ro", "/etc/ld.so.cache", "--report", "3", "--", "/bin/true",
                ], descriptors: [3: theirs]))
        guard let end = child.wait(milliseconds: 5_000) else {
            child.kill()
            throw HostError("host.timeout", "The launcher did not end within five seconds.")
        }
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let count = recv(mine.raw, &buffer, buffer.count, CInt(MSG_DONTWAIT))
        guard count > 0, end == .exited(0), let report = try? JSON(parsing: Array(buffer.prefix(count))) else {
            throw HostError(
                "host.system_error", "A confined program could not be started: \(end).",
                details: ["reason": .string("\(end)"), "fix": "Run \(launcher) --ro /usr -- /bin/true to see why."])
        }
        return report
    }

    private func userNamespaces() -> Finding {
        func number(_ path: String) -> Int? {
            guard let bytes = try? FileReader.read(path, limit: 64) else { return nil }
            return Int(String(decoding: bytes, as: UTF8.self).trimmingWhitespace)
        }
        let isOff =
            number("/proc/sys/user/max_user_namespaces") == 0
            || number("/proc/sys/kernel/unprivileged_userns_clone") == 0
        return Finding(
            "sandbox", "namespaces", .fine,
            isOff ? "this machine gives users none; nothing here needs them" : "available; nothing here needs them")
    }
}
