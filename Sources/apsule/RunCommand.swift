import ApsuleKit
import Glibc
import HostCore
import ScriptText
import Synchronization

/// `apsule run DIR|FILE`: the parent of one project in the foreground.
enum RunCommand {
    static let options =
        [
            Command.Option("allow", value: "PERMISSION", "Gives the permission for this run; may be repeated.")
        ] + TapeOptions.options

    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        Interrupt.hold()
        let options = try Options(arguments, Self.options)
        let host = try Host(stateOverride: options["state"], plugins: options.all("plugins"))
        let target = try RunTarget(options.words.first ?? ".", host: host, allowed: options.all("allow"))
        for warning in target.warnings { Output.warning(warning, json: options.isJSON) }
        try target.checkRequirements(host.registry)
        let tape = try TapeOptions(options)
        let files = try ProjectFiles(data: try host.paths.data, identity: target.identity)
        let console = RunConsole(json: options.isJSON)
        let started = try Worker.start(confinement(target, host, files)) {
            console.write(.warning, source: "worker", $0)
        }
        do {
            return try run(target, host, files, started, console, options, tape)
        } catch {
            started.abandon()
            throw error
        }
    }

    private static func confinement(_ target: RunTarget, _ host: Host, _ files: ProjectFiles) -> WorkerConfinement {
        // Not asked for nothing: then the registry is read while the worker starts.
        let declared =
            target.permissions.isEmpty
            ? []
            : host.registry.snapshot.entries.compactMap(\.descriptor)
                .filter { descriptor in descriptor.permission.map { target.permissions[$0] != nil } ?? false }
        return WorkerConfinement(
            installation: host.installation, project: target.folder, sandbox: files.path, families: declared)
    }

    /// What is prepared here is prepared while the worker starts.
    private static func run(
        _ target: RunTarget, _ host: Host, _ files: ProjectFiles, _ started: Worker.Started, _ console: RunConsole,
        _ options: Options, _ tape: TapeOptions
    ) throws(HostError) -> ExitCode {
        if target.identity.origin.hasPrefix("folder:") { refreshTypes(target.folder, host, quiet: options.isJSON) }
        if geteuid() == 0 { RootWarning.sayOnce(try host.paths.state, json: options.isJSON) }
        let authority = try host.authority(
            target.subject, allowed: Set(options.all("allow")),
            prompter: TerminalPrompter { console.pause($0) }, warn: { Output.failure($0, json: options.isJSON) })
        return try run(target, host, files, started, authority, console, options, tape)
    }

    /// Tells the worker, and the project's types, when plugins appear, change or go.
    private static func follow(_ host: Host, _ target: RunTarget, _ worker: Worker, quiet: Bool) {
        host.registry.onChange { [weak worker] snapshot in
            worker?.announce(snapshot.foreign)
            if target.identity.origin.hasPrefix("folder:") { refreshTypes(target.folder, host, quiet: quiet) }
        }
        host.registry.startWatching()
    }

    /// Plugins may have changed since the project's types were written.
    ///
    /// A folder that is read-only runs all the same.
    private static func refreshTypes(_ folder: String, _ host: Host, quiet: Bool) {
        let written = (try? ProjectTypes.refresh(folder, host.registry.snapshot, host.catalogue)) ?? []
        guard !written.isEmpty, !quiet else { return }
        Output.error("Wrote \(written.joined(separator: ", ")): this host's operations have changed.")
    }

    private static func run(
        _ target: RunTarget, _ host: Host, _ files: ProjectFiles, _ started: Worker.Started,
        _ authority: PermissionAuthority, _ console: RunConsole, _ options: Options,
        _ tape: TapeOptions
    ) throws(HostError) -> ExitCode {
        var passed = ["sandbox": try files.share(), "project": try target.openFolder()]
        passed["tape"] = tape.file
        do {
            passed["bundle"] = try BundledEntry.make(
                target.entry, folder: target.folder, installation: host.installation)
        } catch let error as ScriptError {
            started.abandon()
            console.failure(error.json)
            return .failed
        } catch {
            throw error as? HostError ?? HostError("host.failed", "\(error)")
        }
        var start = target.start(
            plugins: options.all("plugins"), settings: authority.settings, families: host.registry.snapshot.foreign)
        start.set("tape", tape.start)
        start.set("files", .array(passed.keys.map { .string($0) }))
        let end = OneAnswer<Worker.End>()
        let running = Mutex<Worker?>(nil)
        // Before the worker starts, so that no Ctrl-C is lost; one that comes too early is seen below.
        Interrupt.onInterrupt({ running.withLock { $0 }?.stop() }, second: { running.withLock { $0 }?.kill() })
        let worker = Worker(
            started, start: start, files: Array(passed.values), limits: target.limits, authority: authority,
            pluginHosts: PluginHostLauncher(
                installation: host.installation, registry: host.registry, files: files, console: console),
            hooks: Worker.Hooks(
                console: { console.write($0, source: $1, $2) },
                settled: { $0.stop() },
                ended: { end.give($0) }))
        running.withLock { $0 = worker }
        Output.onReaderGone { worker.stop() }
        follow(host, target, worker, quiet: options.isJSON)
        if Interrupt.wasInterrupted { worker.stop() }
        switch end.wait() {
        case .failed(let error):
            console.failure(error)
            return .failed
        case .lost(let error): throw error
        case .finished:
            if Output.isReaderGone { return .outputClosed }
            return Interrupt.wasInterrupted ? .interrupted : .ok
        }
    }
}

/// Says once in a state folder that running as root is not what this was made for.
enum RootWarning {
    static func sayOnce(_ state: String, json: Bool) {
        guard let folder = try? SecureFolder.make(state) else { return }
        let mark = openat(folder.descriptor, "root-warned", O_CREAT | O_EXCL | O_WRONLY, 0o600)
        guard mark >= 0 else { return }
        close(mark)
        Output.warning(
            "apsule runs as root: projects are confined all the same, but an ordinary user is the better choice.",
            json: json)
    }
}
