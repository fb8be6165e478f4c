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
    private let inOrder: Set<String>
    private let order = SerialQueue()
    private let files: ProjectFiles
    private let console: any ConsoleSink
    private let calls = Mutex(Calls())
    private let lastID = Atomic<UInt64>(0)
    private let watch: DeadlineWatch

    private struct Calls {
        var active: [UInt64: ActiveCall] = [:]
        var streams = 0
        var isClosed = false
    }

    /// - Parameter inOrder: families whose providers never block, and get their calls in the order in which they are made.
    public init(
        catalog: Catalog, gate: Gate, files: ProjectFiles, inOrder: Set<String> = [], console: any ConsoleSink
    ) {
        (self.catalog, self.gate, self.files, self.console) = (catalog, gate, files, console)
        self.inOrder = inOrder
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
            let call = try register(found, prepared.question, observer)
            gate.check(prepared.question) { [self] verdict in
                switch verdict {
                case .allowed(let once, _):
                    call.admit(deadline: timeout == 0 ? .max : Clock.now + Int64(timeout), once: once)
                    run(call, prepared)
                case .denied(let error): call.refuse(error)
                }
            }
            return call
        } catch {
            return RefusedCall(error, observer)
        }
    }

    public func answerInline(_ operation: OperationDescriptor, _ arguments: Payload) -> Result<Payload, HostError>? {
        guard operation.isInline, ArgumentLimits.isSmall(arguments),
            let family = catalog.openFamily(operation.family), family.answersInline,
            let index = family.index(of: operation.name)
        else { return nil }
        do {
            let prepared = try prepare(operation, arguments)
            guard prepared.isQuick(operation), gate.isAllowed(prepared.question) else { return nil }
            let sink = InlineSink(operation)
            let id = lastID.add(1, ordering: .relaxed).newValue
            let entered: Void? = family.enter { $0.invoke(index, call: id, arguments: prepared.payload, sink: sink) }
            return entered == nil ? nil : sink.result
        } catch {
            return .failure(error)
        }
    }

    private func prepare(_ operation: OperationDescriptor, _ arguments: Payload) throws(HostError) -> Prepared {
        let value = try ArgumentLimits.parse(arguments)
        if let mismatch = operation.arguments.mismatch(in: value) { throw operation.error(for: mismatch) }
        let question = Question(operation, value)
        return Prepared(payload: operation.arguments.filled(arguments, value), question: question)
    }

    private struct Prepared {
        let payload: Payload
        let question: Question

        /// Inline operations do not block, unless there is much to do, or an argument makes them need more than usual: a
        /// file, say.
        func isQuick(_ operation: OperationDescriptor) -> Bool {
            operation.isInline && question.needs.count <= (operation.permission == nil ? 0 : 1)
                && ArgumentLimits.isSmall(payload)
        }
    }

    private func timeout(_ operation: OperationDescriptor, _ asked: Int?) throws(HostError) -> Int {
        guard let asked else { return operation.timeout.default }
        let maximum = operation.timeout.maximum
        guard asked > 0, maximum == 0 || asked <= maximum else {
            throw .invalidArgument("timeoutMs", expected: "1 to \(maximum)", got: "number \(asked)")
        }
        return asked
    }

    private func register(
        _ operation: OperationDescriptor, _ question: Question, _ observer: any CallObserver
    ) throws(HostError) -> ActiveCall {
        let (call, isClosed) = calls.withLock { calls -> (ActiveCall?, Bool) in
            let isStream = operation.kind == .stream
            let full =
                isStream
                ? calls.streams >= Self.maximumStreams : calls.active.count - calls.streams >= Self.maximumCalls
            guard !full, !calls.isClosed else { return (nil, calls.isClosed) }
            let id = lastID.add(1, ordering: .relaxed).newValue
            let call = ActiveCall(id, operation, question, observer: observer, dispatcher: self)
            calls.active[call.id] = call
            if isStream { calls.streams += 1 }
            return (call, false)
        }
        if isClosed { throw .cancelled }
        guard let call else {
            throw HostError(
                "host.busy",
                "A project may have \(Self.maximumCalls) calls and \(Self.maximumStreams) streams at once.",
                details: ["calls": .int(Int64(Self.maximumCalls)), "streams": .int(Int64(Self.maximumStreams))])
        }
        return call
    }

    private func run(_ call: ActiveCall, _ prepared: Prepared) {
        watch.wake()
        let work: @Sendable () -> Void = { [self] in
            // Cancelled or late while it waited for a thread.
            guard call.isStarting else { return }
            do throws(HostError) {
                let family = try catalog.family(call.operation.family, host: self)
                guard let index = family.index(of: call.operation.name) else {
                    throw catalog.unknown(call.operation.fullName)
                }
                let entered: Void? = family.enter { provider in
                    guard call.begin(family) else { return }
                    provider.invoke(index, call: call.id, arguments: prepared.payload, sink: call)
                    call.invoked()
                }
                if entered == nil { throw .cancelled }
            } catch {
                call.refuse(error)
            }
        }
        let isInline =
            prepared.isQuick(call.operation)
            && catalog.openFamily(call.operation.family)?.answersInline == true
        if isInline { return work() }
        if inOrder.contains(call.operation.family) { order.submit(work) } else { pool.submit(work) }
    }

    // MARK: - While calls run

    func remove(_ call: ActiveCall) {
        calls.withLock { calls in
            guard calls.active.removeValue(forKey: call.id) != nil else { return }
            if call.isStream { calls.streams -= 1 }
        }
    }

    func active(_ id: UInt64) -> ActiveCall? { calls.withLock { $0.active[id] } }

    var isIdle: Bool { calls.withLock { $0.active.isEmpty } }

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
            call.remembered("path", "", { gate.mayOpenFiles(call.operation, once: $0) })
        else { return -EPERM }
        return files.open(path, flags: flags, mode: mode)
    }

    func allows(_ call: ActiveCall, _ scope: String, _ value: String) -> Bool {
        guard call.operation.permission?.scopes.contains(scope) == true else { return false }
        return call.remembered(scope, value) { gate.allows(call.operation, scope: scope, value: value, once: $0) }
    }

    func complain(_ call: ActiveCall, _ what: String) {
        log(.warning, family: call.operation.family, "\(call.operation.fullName) (call \(call.id)) \(what)")
    }

    private func revoke(_ revoked: Revocation) {
        let hit = calls.withLock { $0.active.values.filter { revoked.touches($0.question) } }
        for call in hit { call.revoke(revoked.error) }
    }

    // MARK: - The end

    /// How many calls and streams run.
    public var activeCount: Int { calls.withLock { $0.active.count } }

    /// Cancels every call, waits up to five seconds for the plugins, closes them.
    ///
    /// Further calls are refused.
    ///
    /// A plugin that is still busy in one of its functions after that is not closed, which would pull the ground from
    /// under it.
    public func close() {
        let active = calls.withLock { calls in
            calls.isClosed = true
            return Array(calls.active.values)
        }
        for call in active { call.cancel() }
        let limit = Clock.now + ActiveCall.patience
        while calls.withLock({ !$0.active.isEmpty }), Clock.now < limit { usleep(1_000) }
        for family in catalog.close(until: max(limit, Clock.now + 100)) {
            log(.warning, family: family, "\(family) does not return from a call, and is not closed")
        }
        calls.withLock { calls in
            calls.active = [:]
            calls.streams = 0
        }
        gate.flush()
        watch.stop()
        control.close()
        order.close()
        pool.close()
    }
}

extension Dispatcher: ProviderHost {
    public func log(_ level: LogLevel, family: String, _ message: String) {
        console.write(level, source: family, message)
    }

    public func dataDirectory(family: String) -> Int32 { files.dataDirectory(family) }
}
