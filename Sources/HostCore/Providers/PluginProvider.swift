public import ApsuleKit
internal import CApsule
internal import Glibc
internal import Synchronization

/// Serves a family by a plugin that is loaded into this process.
///
/// `@unchecked Sendable`: the ABI lets any thread call the instance; which calls are live is behind the Mutex.
public final class PluginProvider: Provider, @unchecked Sendable {
    public var operations: [String] { library.operations }
    private let library: PluginLibrary
    private let host: any ProviderHost
    private let table: UnsafeMutablePointer<apsule_host>
    private var instance: UnsafeMutableRawPointer?
    private let live = Mutex<[UInt64: any CallSink]>([:])
    private let openError = Mutex<HostError?>(nil)

    /// Opens an instance for a project.
    ///
    /// - Throws: what the plugin says in `open`.
    public init(_ library: PluginLibrary, project: JSON, host: any ProviderHost) throws(HostError) {
        self.library = library
        self.host = host
        table = .allocate(capacity: 1)
        table.initialize(to: HostTable.make())
        // Held until close: the plugin may use the context as long as its instance lives.
        table.pointee.context = Unmanaged.passRetained(self).toOpaque()
        instance = project.bytes.withSlice { library.table.pointee.open(library.table.pointee.context, table, $0) }
        guard instance == nil else { return }
        Unmanaged.passUnretained(self).release()
        throw openError.withLock { $0 }
            ?? HostError("\(library.family).unavailable", "The plugin could not be opened and gave no reason.")
    }

    deinit {
        table.deinitialize(count: 1)
        table.deallocate()
    }

    public func invoke(_ operation: Int, call: UInt64, arguments: Payload, sink: any CallSink) {
        live.withLock { $0[call] = sink }
        arguments.withABI { library.table.pointee.invoke(instance, UInt32(operation), call, $0) }
    }

    public func cancel(_ call: UInt64) {
        if sink(call) != nil { library.table.pointee.cancel(instance, call) }
    }

    public func resume(_ call: UInt64) {
        if sink(call) != nil { library.table.pointee.resume?(instance, call) }
    }

    public func close() {
        guard let instance else { return }
        library.table.pointee.close(instance)
        self.instance = nil
        live.withLock { $0 = [:] }
        Unmanaged.passUnretained(self).release()
    }

    // MARK: - What the host table calls

    func sink(_ call: UInt64) -> (any CallSink)? { live.withLock { $0[call] } }

    /// The sink of a call that ends now; nil, and a line in the log, for one that is not live.
    func take(_ call: UInt64, _ function: String) -> (any CallSink)? {
        let sink = live.withLock { $0.removeValue(forKey: call) }
        if sink == nil { complain(call, function) }
        return sink
    }

    /// The sink that a reply goes to; a stream's call lives on until its end.
    func answer(_ call: UInt64) -> (any CallSink)? {
        let sink = live.withLock { live in
            live[call]?.isStream == true ? live[call] : live.removeValue(forKey: call)
        }
        if sink == nil { complain(call, "reply") }
        return sink
    }

    func complain(_ call: UInt64, _ function: String) {
        host.log(.warning, family: library.family, "\(function) for call \(call), which is not running: dropped")
    }

    /// Ends a call whose plugin sent a message that cannot be read.
    func malformed(_ call: UInt64, _ function: String) {
        let error = HostError(
            "plugin.protocol_error", "The \(library.family) plugin sent a message without its parts.",
            details: ["family": .string(library.family), "function": .string(function)])
        take(call, function)?.fail(error)
    }

    func failed(_ call: UInt64, _ error: HostError) {
        // Call 0 is the instance itself, in open.
        if call == 0 { return openError.withLock { $0 = error } }
        take(call, "fail")?.fail(error)
    }

    func log(_ level: LogLevel, _ message: String) { host.log(level, family: library.family, message) }

    func dataDirectory() -> Int32 { host.dataDirectory(family: library.family) }

    var family: String { library.family }
}
