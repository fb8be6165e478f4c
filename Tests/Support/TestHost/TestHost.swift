public import ApsuleKit
public import CApsule
import Dispatch
import Foundation
import Synchronization

/// Drives a plugin through its ABI table, as the host does but for schema, gate and audit: what arrives here is what the
/// plugin gets.
///
///     let host = try TestHost("storage", StoragePlugin.entry)
///     try await host.call("set", ["key": "a", "value": 1])
///     #expect(try await host.call("get", ["key": "a"]) == 1)
///
/// Whatever the plugin does against the ABI's rules is in `violations`. Closed and cleaned up when released.
public final class TestHost: Sendable {
    /// The two folders of one project, which several hosts may share.
    public let project: TestProject
    private let desk: TestDesk
    private let contract: TestContract
    // nonisolated(unsafe): immutable, valid until deinit, and the plugin takes any thread.
    nonisolated(unsafe) private let plugin: UnsafePointer<apsule_plugin>
    nonisolated(unsafe) private let table: UnsafeMutablePointer<apsule_host>
    nonisolated(unsafe) private let instance: UnsafeMutableRawPointer
    private let isClosed = Atomic(false)

    /// Opens an instance of a family whose manifest is in `Manifests`.
    ///
    /// - Throws: the error with which the plugin refused.
    public init(
        _ family: String, _ entry: () -> UnsafePointer<apsule_plugin>?, project: TestProject? = nil,
        settings: JSON = .object([])
    ) throws {
        contract = try TestContract(family)
        guard let plugin = entry() else { throw HostError("test.no_table", "The entry gave no table.") }
        let project = try project ?? TestProject()
        let desk = TestDesk(project)
        let table = UnsafeMutablePointer<apsule_host>.allocate(capacity: 1)
        table.initialize(to: desk.table())
        let description: JSON = ["id": .string(project.id), "settings": settings]
        let opened = description.bytes.withUnsafeBufferPointer { bytes in
            plugin.pointee.open(plugin.pointee.context, table, apsule_slice(data: bytes.baseAddress, size: bytes.count))
        }
        guard let opened else {
            table.deallocate()
            throw desk.refusal ?? HostError("test.no_reason", "The plugin refused to open without an error.")
        }
        (self.project, self.desk, self.plugin, self.table, instance) = (project, desk, plugin, table, opened)
    }

    deinit {
        close()
        table.deallocate()
    }

    /// The operations' names, in the plugin's order.
    public var operations: [String] {
        (0..<Int(plugin.pointee.operation_count)).compactMap { index in
            plugin.pointee.operations[index].map { String(cString: $0) }
        }
    }

    /// What the plugin did against the rules: a second terminal, an event after the end, a call that nobody made.
    public var violations: [String] { desk.violations }

    /// What the plugin logged, as `warning: text`.
    public var logged: [String] { desk.logged }

    /// Answers `allows`; everything is allowed where none is set.
    public func setAllows(_ rule: @escaping @Sendable (_ scope: String, _ value: String) -> Bool) {
        desk.setAllows(rule)
    }

    /// Calls an operation and waits for its answer.
    ///
    /// - Throws: the `HostError` it failed with.
    @discardableResult
    public func call(_ operation: String, _ arguments: JSON = .object([]), blobs: [[UInt8]] = []) async throws -> JSON {
        try await start(operation, arguments, blobs: blobs).answer().json
    }

    /// Calls an operation from a thread that may block, and does not wait.
    public func start(_ operation: String, _ arguments: JSON = .object([]), blobs: [[UInt8]] = []) -> TestCall {
        start(operation, arguments, blobs, isStream: false)
    }

    /// Opens a stream, and does not wait.
    public func stream(_ operation: String, _ arguments: JSON = .object([]), blobs: [[UInt8]] = []) -> TestCall {
        start(operation, arguments, blobs, isStream: true)
    }

    private func start(_ operation: String, _ arguments: JSON, _ blobs: [[UInt8]], isStream: Bool) -> TestCall {
        let id = desk.newCall(isStream: isStream)
        let call = TestCall(id, desk, contract, operation, cancel: { self.plugin.pointee.cancel(self.instance, id) }) {
            self.plugin.pointee.resume?(self.instance, id)
        }
        guard let index = operations.firstIndex(of: operation) else {
            desk.fail(id, HostError("host.operation_unknown", "\(operation) is not in the plugin's table."))
            return call
        }
        DispatchQueue.global().async { self.invoke(index, id, Message(arguments, blobs: blobs)) }
        return call
    }

    private func invoke(_ index: Int, _ id: apsule_call, _ message: Message) {
        let json = message.json.bytes
        // Copies with addresses of their own, as long as invoke takes.
        let blobs = message.blobs.map { bytes in
            let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, bytes.count))
            copy.initialize(from: bytes, count: bytes.count)
            return apsule_blob(data: copy, size: bytes.count, release: nil, owner: nil)
        }
        defer { for blob in blobs { blob.data.deallocate() } }
        json.withUnsafeBufferPointer { json in
            blobs.withUnsafeBufferPointer { blobs in
                var arguments = apsule_message(
                    size: UInt32(MemoryLayout<apsule_message>.size), blob_count: UInt32(blobs.count),
                    json: apsule_slice(data: json.baseAddress, size: json.count), blobs: blobs.baseAddress)
                plugin.pointee.invoke(instance, UInt32(index), id, &arguments)
            }
        }
    }

    /// Cancels what runs, waits for the terminals and closes the instance; once.
    public func close() {
        guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        for id in desk.running { plugin.pointee.cancel(instance, id) }
        let deadline = DispatchTime.now() + .seconds(5)
        while !desk.running.isEmpty, DispatchTime.now() < deadline { usleep(1000) }
        for id in desk.running { desk.violate("call \(id) has no terminal five seconds after cancel") }
        plugin.pointee.close(instance)
        desk.closed()
    }
}
