internal import ApsuleKit
internal import Synchronization

/// Asks plugins whether they can work on this machine: bundled ones, and those of others that are trusted.
///
/// An answer holds for a minute, unless the plugin changes.
public final class Prober: Sendable {
    private let registry: Registry
    private let launcher: PluginHostLauncher
    private let recent = Mutex<[String: (stamp: String?, until: Int64)]>([:])
    private static let memory: Int64 = 60_000

    /// - Parameter console: gets what plugins and their libraries write to standard output and error.
    public init(registry: Registry, installation: Installation, console: any ConsoleSink) {
        self.registry = registry
        launcher = PluginHostLauncher(
            installation: installation, registry: registry, files: nil, console: console)
    }

    /// Probes side by side, and notes in the registry what each said.
    ///
    /// - Parameters:
    ///   - families: those to ask; nil: all.
    ///   - milliseconds: how long to wait for all of them together; who is silent then counts as unavailable.
    public func probe(_ families: Set<String>? = nil, milliseconds: Int = 10_000) {
        let now = Clock.now
        let due = registry.snapshot.entries.filter { entry in
            guard entry.isProbed, families?.contains(entry.family) ?? true else { return false }
            guard let last = recent.withLock({ $0[entry.family] }) else { return true }
            return last.until <= now || last.stamp != entry.stamp
        }
        let answers = Mutex<[String: Answer]>([:])
        let answered = Signal()
        for entry in due {
            Thread.start(name: "apsule.probe") { [self] in
                let answer = ask(entry, milliseconds)
                answers.withLock { $0[entry.family] = answer }
                answered.post()
            }
        }
        let limit = now + Int64(milliseconds)
        for _ in due where !answered.wait(milliseconds: Int(limit - Clock.now)) { break }
        let heard = answers.withLock { $0 }
        for entry in due {
            let answer = heard[entry.family] ?? .silent
            registry.mark(entry.family, answer.status, answer.error(entry.family, milliseconds))
            recent.withLock { $0[entry.family] = (entry.stamp, Clock.now + Self.memory) }
        }
    }

    private enum Answer: Sendable {
        case silent
        case said(JSON)
        case broken(HostError)

        var status: Registry.Entry.Status {
            switch self {
            case .said(let status): status["status"] == "ready" ? .ready : .unavailable
            case .silent: .unavailable
            case .broken: .invalid
            }
        }

        func error(_ family: String, _ milliseconds: Int) -> HostError? {
            switch self {
            case .said(let status):
                if status["status"] == "ready" { return nil }
                return .unavailable(
                    family, status["reason"]?.stringValue ?? "It gave no reason.",
                    fix: status["fix"]?.stringValue ?? "none known")
            case .silent:
                return .unavailable(
                    family, "It did not say within \(milliseconds) ms whether it can work.",
                    fix: "Look whether the service behind it hangs, then try again.")
            case .broken(let error): return error
            }
        }
    }

    private func ask(_ entry: Registry.Entry, _ milliseconds: Int) -> Answer {
        guard let descriptor = entry.descriptor else { return .silent }
        do throws(HostError) {
            if entry.isOwnProcess {
                return try launcher.start(entry.family).probe(milliseconds: milliseconds).map { .said($0) } ?? .silent
            }
            let library = try PluginLibrary(path: entry.path, descriptor: descriptor)
            return library.probe(milliseconds: milliseconds).map { .said($0) } ?? .silent
        } catch {
            return .broken(error)
        }
    }
}

extension Registry.Entry {
    /// Whether a probe may run its code: it is a plugin, trusted, and was built.
    var isProbed: Bool { provider != "host" && isCallable && path.hasSuffix(".so") }
}
