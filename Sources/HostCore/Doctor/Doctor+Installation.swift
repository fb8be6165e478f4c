internal import ApsuleKit
internal import CHostCore
internal import Glibc

/// What lies beside the executable, and the libraries that this build found.
extension Doctor {
    func examineInstallation() -> [Finding] {
        let topic = "installation"
        let folder = installation.folder
        let names = PluginFolder.names(in: folder)
        let plugins = names.count { $0.hasPrefix("libapsule-") && $0.hasSuffix(".so") }
        let manifests = PluginFolder.names(in: folder + "/Manifests").count { $0.hasSuffix(".json") }
        var findings = [Finding(topic, "apsule", .fine, "\(Discovery.hostVersion), ABI 1, in \(folder)")]
        if manifests > 0, plugins > 0 {
            findings.append(Finding(topic, "plugins", .fine, "\(plugins) plugins and \(manifests) manifests beside it"))
        } else {
            findings.append(
                Finding(
                    topic, "plugins", .problem, "\(plugins) plugins and \(manifests) manifests in \(folder)",
                    reason: "They lie beside the executable, the manifests in a folder Manifests.",
                    fix: "Scripts/build, or install apsule again."))
        }
        findings += Self.owners([
            folder, folder + "/apsule", folder + "/apsule-worker", folder + "/apsule-launch", folder + "/Manifests",
        ])
        findings.append(
            Finding(
                topic, "libraries", .fine,
                LoadedLibraries.versions.isEmpty ? "none loaded" : LoadedLibraries.versions.joined(separator: ", ")))
        return findings
    }

    /// Whoever may write the program decides what it does.
    private static func owners(_ paths: [String]) -> [Finding] {
        paths.compactMap { path in
            var info = stat()
            guard stat(path, &info) == 0 else { return nil }
            if info.st_mode & S_IWOTH != 0, info.st_mode & S_ISVTX == 0 {
                return Finding(
                    "installation", "owner", .problem, "everybody may write \(path)",
                    reason: "Whoever writes it decides what apsule does.", fix: "chmod o-w \(path)")
            }
            guard info.st_uid != 0, info.st_uid != geteuid() else { return nil }
            return Finding(
                "installation", "owner", .warning, "\(path) belongs to user \(info.st_uid)",
                reason: "Who owns it decides what apsule does.", fix: "Install apsule as root, or as this user.")
        }
    }
}

extension LoadedLibraries {
    /// Name and version of the libraries that matter, by the files that they were loaded from.
    static var versions: [String] {
        let wanted = [
            "libjavascriptcoregtk", "libglib-2.0", "libgio-2.0", "libsqlite3", "libcrypto", "libbluetooth",
            "libswiftCore", "libc",
        ]
        return files.compactMap { file in
            let name = file.split(separator: "/").last.map(String.init) ?? file
            guard
                wanted.contains(where: { name == "\($0).so" || name.hasPrefix("\($0).so.") || name.hasPrefix("\($0)-") }
                )
            else { return nil }
            guard let real = realpath(file, nil) else { return nil }
            defer { free(real) }
            return String(cString: real).split(separator: "/").last.map(String.init)
        }
    }
}
