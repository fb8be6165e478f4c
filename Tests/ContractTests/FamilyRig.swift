import ApsuleKit
import Foundation
import HostCore
import Synchronization
import TestPrograms

/// A dispatcher over every family of this build and the C plugin, with spies before the providers.
final class FamilyRig: Sendable {
    let dispatcher: Dispatcher
    let seen = SpyProvider.Log()
    let console = RecordingConsole()
    private let folder: String

    /// Every family that can be called, and those of the host itself.
    static let registry: Registry = {
        let host = ["runtime", "permissions"].compactMap { try? manifest($0) }
        let everything = URL(fileURLWithPath: Workshop.everything).deletingLastPathComponent().path
        let folders = [Workshop.build, everything].map { PluginFolder(path: $0, isBundled: true) }
        return Registry(folders: folders, hostFamilies: host)
    }()

    static let catalogue = PermissionCatalogue(descriptors: registry.snapshot.entries.compactMap(\.descriptor))

    /// The manifest as it lies in the repository.
    static func manifest(_ family: String) throws -> Descriptor {
        let path = family == "everything" ? "Tests/Plugins/everything/everything.json" : "Manifests/\(family).json"
        let file = Workshop.repository.appending(path: path)
        return try Descriptor(parsing: Array(Data(contentsOf: file)), file: file.path)
    }

    init(_ place: Place, allowing: Bool) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "apsule-families-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let authority = FixedAuthority(allows: allowing)
        let log = seen
        let files = try ProjectFiles(data: folder, identity: ProjectIdentity(id: "contract", origin: "test"))
        let catalog = Catalog(registry: Self.registry) { descriptor, host throws(HostError) in
            SpyProvider(try Self.open(descriptor, place, authority, host, files), log)
        }
        dispatcher = Dispatcher(catalog: catalog, gate: Gate(authority: authority), files: files, console: console)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private static func open(
        _ descriptor: Descriptor, _ place: Place, _ authority: FixedAuthority, _ host: any ProviderHost,
        _ files: ProjectFiles
    ) throws(HostError) -> any Provider {
        let entry = registry.snapshot.entry(descriptor.family)
        if entry?.provider == "host" {
            return descriptor.family == "runtime"
                ? RuntimeFamily.provider(registry: registry)
                : PermissionsFamily.provider(desk: authority, catalogue: catalogue)
        }
        let path = entry?.path ?? ""
        let project: JSON = ["id": "contract", "settings": [:]]
        switch place {
        case .inProcess:
            return try PluginProvider(PluginLibrary(path: path, descriptor: descriptor), project: project, host: host)
        case .pluginHost:
            let launcher = PluginHostLauncher(
                installation: Installation(), registry: registry, files: files, console: RecordingConsole())
            return RemoteProvider(descriptor, project: project, host: host) { () throws(HostError) in
                try launcher.start(descriptor.family)
            }
        }
    }

    /// Starts a call and hears what becomes of it.
    func start(_ operation: OperationDescriptor, _ arguments: JSON, blobs: [Blob] = []) -> (any RunningCall, Answer) {
        let answer = Answer()
        let maximum = operation.timeout.maximum
        let timeout = maximum == 0 ? nil : min(maximum, 20_000)
        let payload = Payload(arguments, blobs: blobs)
        let call = dispatcher.start(operation.fullName, payload, timeoutMs: timeout, observer: answer)
        return (call, answer)
    }
}

/// What a caller hears.
final class Answer: CallObserver {
    private let state = Mutex<(results: [Result<Payload, HostError>], ends: Int)>(([], 0))

    var result: Result<Payload, HostError>? { state.withLock { $0.results.first } }
    var count: Int { state.withLock { $0.results.count } }
    var error: HostError? { if case .failure(let error) = result { error } else { nil } }
    /// How often the stream came to an end.
    var ends: Int { state.withLock { $0.ends } }

    func answered(_ call: any RunningCall, _ result: Result<Payload, HostError>) {
        state.withLock { $0.results.append(result) }
    }

    func eventsReady(_ call: any RunningCall) {
        while let item = call.next() {
            if case .event = item { continue }
            state.withLock { $0.ends += 1 }
        }
    }
}

final class RecordingConsole: ConsoleSink {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func write(_ level: LogLevel, source: String, _ text: String) { lines.withLock { $0.append("\(source): \(text)") } }
}

/// Allows everything or nothing.
final class FixedAuthority: Authority, PermissionDesk {
    private let allows: Bool
    init(allows: Bool) { self.allows = allows }

    func decide(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void) {
        guard !allows, let need = question.needs.first else { return completion(.allowed(once: false, expires: nil)) }
        completion(.denied(HostError("permission.denied", "The test denies \(need.permission).")))
    }

    func allows(_ question: Question, once: Bool) -> Bool { allows }
    func note(_ question: Question, count: Int) {}
    func onRevoked(_ handler: @escaping @Sendable (Revocation) -> Void) {}
    func summary(_ completion: @escaping @Sendable ([(String, String)]) -> Void) { completion([]) }
    func status(_ permission: String, _ completion: @escaping @Sendable (String) -> Void) { completion("granted") }
    func request(_ permission: String, _ completion: @escaping @Sendable (String) -> Void) { completion("granted") }
}
