import ApsuleKit
import Glibc
import HostCore

/// What `apsule run` was given: a project folder, or one script.
struct RunTarget {
    let subject: PermissionAuthority.Subject
    /// The folder that the script may read.
    let folder: String
    let entry: String
    let limits: Manifest.Limits
    let warnings: [String]
    private let requirements: Manifest.Requirements

    var identity: ProjectIdentity { subject.identity }
    var permissions: [String: Declaration] { subject.declarations ?? [:] }

    init(_ path: String, host: Host, allowed: [String]) throws(HostError) {
        var info = stat()
        guard stat(path, &info) == 0 else {
            throw HostError(
                "manifest.not_found", "\(path): \(String(cString: strerror(errno)))", details: ["path": .string(path)])
        }
        if info.st_mode & S_IFMT == S_IFDIR {
            let project = try ProjectFolder(path, catalogue: host.catalogue)
            let manifest = project.manifest
            subject = PermissionAuthority.Subject(
                identity: project.identity, name: manifest.name, declarations: manifest.permissions)
            (folder, entry, limits) = (project.path, manifest.entry, manifest.limits)
            warnings = manifest.warnings
            requirements = manifest.requires
        } else {
            // A single script declares what it is given.
            let identity = try ProjectIdentity(id: "apsule.file", path: path)
            var declarations: [String: Declaration] = [:]
            for name in allowed { declarations[name] = Declaration() }
            let real = identity.place
            let slash = real.lastIndex(of: "/") ?? real.startIndex
            entry = String(real[real.index(after: slash)...])
            folder = slash == real.startIndex ? "/" : String(real[..<slash])
            subject = PermissionAuthority.Subject(identity: identity, name: entry, declarations: declarations)
            (limits, warnings) = (Manifest.Limits(), [])
            requirements = Manifest.Requirements()
        }
    }

    /// - Throws: `manifest.incompatible_host` with the operations that are missing.
    func checkRequirements(_ registry: Registry) throws(HostError) {
        let missing = requirements.operations.filter { !Discovery.isKnown(registry.snapshot, $0) }
        guard missing.isEmpty else {
            throw HostError(
                "manifest.incompatible_host",
                "This host lacks operations that the project requires: \(missing.joined(separator: ", ")).",
                details: ["operations": .array(missing.map { .string($0) })])
        }
        if let wanted = requirements.host, !HostVersion.satisfies(wanted) {
            throw HostError(
                "manifest.incompatible_host", "The project requires host \(wanted), this is \(Discovery.hostVersion).",
                details: ["required": .string(wanted), "host": .string(Discovery.hostVersion)])
        }
    }

    func openFolder() throws(HostError) -> OwnedFile {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw HostError("manifest.not_found", "\(folder): \(String(cString: strerror(errno)))")
        }
        return OwnedFile(descriptor)
    }

    /// What the worker gets to know.
    ///
    /// - Parameters:
    ///   - settings: the owner's for families; a project's own would lift its limits.
    ///   - families: the plugins of others, whose folders the worker cannot see.
    func start(plugins: [String], settings: JSON, families: JSON) -> JSON {
        [
            "id": .string(identity.id), "origin": .string(identity.origin), "entry": .string(entry),
            "settings": settings, "families": families,
            "limits": ["turnMs": .int(Int64(limits.turnMs)), "memoryMB": .int(Int64(limits.memoryMB))],
            "plugins": .array(plugins.map { .string($0) }),
        ]
    }
}

/// `>=0.1`, `0.1.0`: what a manifest may require of the host.
enum HostVersion {
    static func satisfies(_ requirement: String) -> Bool {
        let isMinimum = requirement.hasPrefix(">=")
        let wanted = numbers(isMinimum ? String(requirement.dropFirst(2)) : requirement)
        let have = numbers(Discovery.hostVersion)
        return isMinimum ? !have.lexicographicallyPrecedes(wanted) : have.starts(with: wanted)
    }

    private static func numbers(_ text: String) -> [Int] { text.split(separator: ".").map { Int($0) ?? .max } }
}
