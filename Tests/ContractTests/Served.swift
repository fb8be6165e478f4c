import ApsuleKit
import Foundation
import HostCore
import Synchronization
import TestPrograms
import Testing

/// Where a plugin runs: every case of the contract is tried in both places.
enum Place: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case inProcess = "in process"
    case pluginHost = "in plugin-host"

    var testDescription: String { rawValue }
}

/// One provider of the `everything` plugin, opened in either place, with a folder of its own.
final class Served: Sendable {
    let provider: any Provider
    let host: RecordingHost
    let descriptor: Descriptor
    let folder: String
    private let last = Atomic<UInt64>(1_000)

    init(_ place: Place, policy: RestartPolicy = RestartPolicy(), settings: JSON = .object([])) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "apsule-contract-\(UUID().uuidString)").path
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let host = RecordingHost(data: folder)
        self.host = host
        let path = Workshop.everything
        let manifest = Workshop.repository.appending(path: "Tests/Plugins/everything/everything.json")
        let descriptor = try Descriptor(parsing: Array(Data(contentsOf: manifest)))
        self.descriptor = descriptor
        let project: JSON = ["id": "contract", "settings": settings]
        switch place {
        case .inProcess:
            do {
                provider = try PluginProvider(
                    PluginLibrary(path: path, descriptor: descriptor), project: project, host: host)
            } catch {
                // What was never whole has no deinit.
                try? FileManager.default.removeItem(atPath: folder)
                throw error
            }
        case .pluginHost:
            provider = RemoteProvider(descriptor, project: project, host: host, policy: policy) {
                () throws(HostError) in try Self.start(path, descriptor, folder: folder)
            }
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Starts `apsule plugin-host` for a library, confined as it always is.
    static func start(
        _ path: String, _ descriptor: Descriptor, folder: String?
    ) throws(HostError) -> PluginHostConnection {
        let (mine, theirs) = try OwnedFile.socketPair()
        let confinement = PluginHostConfinement(
            installation: Installation(), library: path, descriptor: descriptor, folder: folder)
        return PluginHostConnection(
            socket: mine, process: try ChildProcess.start(confinement.command(socket: theirs)))
    }

    /// A call that was started.
    struct Running: Sendable {
        let id: UInt64
        let sink: RecordingSink
        let provider: any Provider
        fileprivate let cancelled = Flag()
        fileprivate let taken = Flag()

        /// As the dispatcher does it: now, again while invoke runs, and once it has returned.
        func cancel() {
            cancelled.isSet.store(true, ordering: .sequentiallyConsistent)
            HostCore.Thread.start(name: "cancel") { [self] in
                repeat {
                    provider.cancel(id)
                    usleep(20_000)
                } while !taken.isSet.load(ordering: .sequentiallyConsistent)
            }
        }
        func resume() { provider.resume(id) }

        /// Waits for the terminal.
        @discardableResult
        func done(seconds: Double = 20) async throws -> RecordingSink {
            try await eventually(seconds) { sink.isDone }
            return sink
        }

        /// The reply of a call; the error it failed with is thrown.
        func answer() async throws -> JSON {
            try await done()
            if let error = sink.errors.first { throw error }
            if case .reply(let json) = sink.said[0] { return json ?? .null }
            throw HostError("test.no_reply", "\(sink.said)")
        }
    }

    /// Starts an operation from a thread that may block, as the dispatcher's pool does.
    func start(
        _ operation: String, _ arguments: JSON = .object([]), blobs: [Blob] = [],
        hooks: RecordingSink.Hooks = .init()
    ) -> Running {
        let id = last.add(10, ordering: .relaxed).newValue
        let isStream = descriptor.operation(operation)?.kind == .stream
        let running = Running(id: id, sink: RecordingSink(isStream: isStream, hooks: hooks), provider: provider)
        guard let index = provider.operations.firstIndex(of: operation) else {
            running.sink.fail(HostError("host.operation_unknown", operation))
            return running
        }
        let payload = Payload(arguments, blobs: blobs)
        HostCore.Thread.start(name: "invoke") { [provider] in
            provider.invoke(index, call: id, arguments: payload, sink: running.sink)
            running.taken.isSet.store(true, ordering: .sequentiallyConsistent)
            if running.cancelled.isSet.load(ordering: .sequentiallyConsistent) { provider.cancel(id) }
        }
        return running
    }

    func call(
        _ operation: String, _ arguments: JSON = .object([]), hooks: RecordingSink.Hooks = .init()
    ) async throws -> JSON {
        try await start(operation, arguments, hooks: hooks).answer()
    }
}

private final class Flag: Sendable { let isSet = Atomic(false) }

/// Something that a hook needs before the test has it.
final class Later<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func set(_ value: Value) { self.value.withLock { $0 = value } }

    /// Waits on this thread until it is there.
    func get() -> Value {
        while true {
            if let value = value.withLock({ $0 }) { return value }
            usleep(100)
        }
    }
}

/// Waits until something holds.
func eventually(_ seconds: Double = 10, _ condition: () throws -> Bool) async throws {
    let limit = ContinuousClock.now + .seconds(seconds)
    while try !condition() {
        guard ContinuousClock.now < limit else { throw HostError("test.timeout", "It did not come about.") }
        try await Task.sleep(for: .milliseconds(2))
    }
}
