public import ApsuleKit
internal import CHostCore
internal import Glibc
internal import Synchronization

/// The one way in: every call of every front end goes through schema, limits, gate and audit here, then to its family.
///
/// One dispatcher serves one project.
public final class Dispatcher: CallPort, Sendable {
    public static let maximumJSON = 8 << 20
    public static let maximumBlobs = 256 << 20
    public static let maximumCalls = 1_024
    public static let maximumStreams = 256

    public let catalog: Catalog
    let gate: Gate
    /// Cancels and resumes: they never wait behind a plugin that blocks.
    let control = SerialQueue()
    private let pool = ThreadPool()
    private let files: ProjectFiles
    private let console: any ConsoleSink
    private let calls = Mutex(Calls())
    private let watch: DeadlineWatch

    private struct Calls {
        var active: [UInt64: ActiveCall] = [:]
        var streams = 0
        var last: UInt64 = 0
        var isClosed = false
    }

    public init(catalog: Catalog, gate: Gate, files: ProjectFiles, console: any ConsoleSink) {
        (self.catalog, self.gate, self.files, self.console) = (catalog, gate, files, console)
        watch = DeadlineWatch()
        watch.start(of: self)
        gate.onRevoked { [weak self] revoked in self?.revoke(revoked) }
    }

    public var families: [Descriptor] { catalog.callable }

    // MARK: - Starting

    @discardableResult
    public func start(
        _ operation: String, _ arguments: Payload, timeoutMs: Int?, observer: any CallObserver
    ) -> any RunningCall {
        guard let found = catalog.operation(operation) else {
            return RefusedCall(catalog.unknown(operation), observer)
        }
        do {
            let prepared = try prepare(found, arguments)
            let timeout = try timeout(found, timeoutMs)
            let call = try register(found, observer)
            gate.check(prepared.question) { [self] verdict in
                switch verdict {
                case .allowed: run(call, prepared, timeout)
                case .denied(let error): call.refuse(error)
                }
            }
            return call
        } catch {
            return RefusedCall(error, observer)
        }
    }

    public func answerInline(_ operation: OperationDescriptor, _ arguments: Payload) -> Result<Payload, HostError>? {
        guard operation.isInline, let provider = catalog.openProvider(operation.family), provider.answersInline else {
            return nil
        }
        do {
            let prepared = try prepare(operation, arguments)
            guard prepared.question.needs.count <= (operation.permission == nil ? 0 : 1), gate.isAllowed(prepared.question)
            else { return nil }
            guard let index = catalog.index(of: operation) else { return nil }
            let sink = InlineSink(self, operation)
            let id = nextID()
            provider.invoke(index, call: id, arguments: prepared.payload, sink: sink)
            return sink.result(operation)
        } catch {
            return .failure(error)
        }
    }

    private func prepare(_ operation: OperationDescriptor, _ arguments: Payload) throws(HostError) -> Prepared {
        let value = try ArgumentLimits.parse(arguments)
        if let mismatch = operation.arguments.mismatch(in: value) { throw operation.error(for: mismatch) }
        let question = Question(operation, value)
        let missing = operation.arguments.defaults.filter { value[$0.key] == nil }
        guard !missing.isEmpty else { return Prepared(payload: arguments, question: question) }
        let full = JSON.object((value.members ?? []) + missing)
        return Prepared(payload: Payload(full, blobs: arguments.blobs), question: question)
    }

    private struct Prepared {
        let payload: Payload
        let question: Question
    }

    private func timeout(_ operation: OperationDescriptor, _ asked: Int?) throws(HostError) -> Int {
        guard let asked else { return operation.timeout.default }
        let maximum = operation.timeout.maximum
        guard asked > 0, maximum == 0 || asked <= maximum else {
            throw .invalidArgument("timeoutMs", expected: "1 to \(maximum)", got: "number \(asked)")
        }
        return asked
    }

    private func register(_ operation: OperationDescriptor, _ observer: any CallObserver) throws(HostError) -> ActiveCall {
        let call: ActiveCall? = calls.withLock { calls in
            let isStream = operation.kind == .stream
            let full = isStream ? calls.streams >= Self.maximumStreams : calls.active.count - calls.streams >= Self.maximumCalls
            guard !full, !calls.isClosed else { return nil }
            calls.last += 1
            let call = ActiveCall(calls.last, operation, observer: observer, dispatcher: self)
            calls.active[call.id] = call
            if isStream { calls.streams += 1 }
            return call
        }
        guard let call else {
            throw HostError(
                "host.busy", "A project may have \(Self.maximumCalls) calls and \(Self.maximumStreams) streams at once.",
                details: ["calls": .int(Int64(Self.maximumCalls)), "streams": .int(Int64(Self.maximumStreams))])
        }
        return call
    }

    private func nextID() -> UInt64 {
        calls.withLock { calls in
            calls.last += 1
            return calls.last
        }
    }

    private func run(_ call: ActiveCall, _ prepared: Prepared, _ timeout: Int) {
        let work: @Sendable () -> Void = { [self] in
            do {
                let provider = try catalog.provider(call.operation.family, host: self)
                guard let index = catalog.index(of: call.operation) else { throw catalog.unknown(call.operation.fullName) }
                guard call.begin(provider, deadline: timeout == 0 ? .max : Clock.now + Int64(timeout)) else { return }
                watch.wake()
                provider.invoke(index, call: call.id, arguments: prepared.payload, sink: call)
                call.invoked()
            } catch {
                call.refuse(error as? HostError ?? HostError("host.failed", "\(error)"))
            }
        }
        // Inline operations do not block, unless an argument makes them need more than usual: a file, say.
        let isQuick = call.operation.isInline && prepared.question.needs.count <= (call.operation.permission == nil ? 0 : 1)
        if isQuick, catalog.openProvider(call.operation.family)?.answersInline == true { work() } else { pool.submit(work) }
    }

    // MARK: - While calls run

    func remove(_ call: ActiveCall) {
        calls.withLock { calls in
            guard calls.active.removeValue(forKey: call.id) != nil else { return }
            if call.isStream { calls.streams -= 1 }
        }
    }

    /// Looks at every deadline; false when no call is running.
    func expire() -> Bool {
        let active = calls.withLock { Array($0.active.values) }
        let now = Clock.now
        for call in active { call.expire(now: now) }
        return !active.isEmpty
    }

    func openPath(_ call: ActiveCall, _ path: String, flags: Int32, mode: UInt32) -> Int32 {
        let writes = flags & (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND) != O_RDONLY
        guard call.operation.paths.contains(where: { $0.write || !writes }),
            gate.mayOpenFiles(call.operation)
        else { return -EPERM }
        return files.open(path, flags: flags, mode: mode)
    }

    func allows(_ call: ActiveCall, _ scope: String, _ value: String) -> Bool {
        guard call.operation.permission?.scopes.contains(scope) == true else { return false }
        return gate.allows(call.operation, scope: scope, value: value)
    }

    func complain(_ call: ActiveCall, _ what: String) {
        log(.warning, family: call.operation.family, "\(call.operation.fullName) (call \(call.id)) \(what)")
    }

    private func revoke(_ revoked: Revocation) {
        let hit = calls.withLock { $0.active.values.filter { revoked.touches($0.operation) } }
        for call in hit { call.revoke(revoked.error) }
    }

    // MARK: - The end

    /// How many calls and streams run.
    public var activeCount: Int { calls.withLock { $0.active.count } }

    /// Cancels every call, waits up to five seconds for the plugins, closes them. Further calls are refused.
    public func close() {
        let active = calls.withLock { calls in
            calls.isClosed = true
            return Array(calls.active.values)
        }
        for call in active { call.cancel() }
        let limit = Clock.now + 5_000
        while calls.withLock({ !$0.active.isEmpty }), Clock.now < limit { usleep(1_000) }
        catalog.closeProviders()
        gate.flush()
        watch.stop()
        control.close()
        pool.close()
    }
}

extension Dispatcher: ProviderHost {
    public func log(_ level: LogLevel, family: String, _ message: String) {
        console.write(level, source: family, message)
    }

    public func dataDirectory(family: String) -> Int32 { files.dataDirectory(family) }
}
