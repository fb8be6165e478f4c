import ApsuleKit
import HostCore
import Synchronization

/// A port whose operations a test answers itself.
final class FakePort: CallPort {
    typealias Handler = @Sendable (FakeCall) -> Void

    let families: [Descriptor]
    private let handlers: Mutex<[String: Handler]> = Mutex([:])
    private let inline: Mutex<[String: @Sendable (Payload) -> Result<Payload, HostError>?]> = Mutex([:])
    private let calls = Mutex<[FakeCall]>([])
    private let live = Atomic<Int>(0)

    init(_ manifests: JSON...) throws {
        families = try manifests.map { try Descriptor($0) }
    }

    /// Every call that was started, in order.
    var started: [FakeCall] { calls.withLock { $0 } }
    /// Calls and streams that have not ended.
    var liveCount: Int { live.load(ordering: .sequentiallyConsistent) }

    func on(_ operation: String, _ handler: @escaping Handler) {
        handlers.withLock { $0[operation] = handler }
    }

    func onInline(_ operation: String, _ handler: @escaping @Sendable (Payload) -> Result<Payload, HostError>?) {
        inline.withLock { $0[operation] = handler }
    }

    func start(
        _ operation: String, _ arguments: Payload, timeoutMs: Int?, observer: any CallObserver
    ) -> any RunningCall {
        let known = families.lazy.flatMap(\.operations).first { $0.fullName == operation }
        let call = FakeCall(operation, arguments, timeoutMs, observer, isStream: known?.kind == .stream) { [self] in
            live.subtract(1, ordering: .sequentiallyConsistent)
        }
        live.add(1, ordering: .sequentiallyConsistent)
        calls.withLock { $0.append(call) }
        guard let handler = handlers.withLock({ $0[operation] }) else {
            call.fail(HostError("test.no_handler", operation))
            return call
        }
        handler(call)
        return call
    }

    func answerInline(_ operation: OperationDescriptor, _ arguments: Payload) -> Result<Payload, HostError>? {
        inline.withLock { $0[operation.fullName] }?(arguments)
    }

    func forgetStarted() { calls.withLock { $0 = [] } }
}

/// One call, as a dispatcher keeps it: answered by the test, pulled by the script.
final class FakeCall: RunningCall {
    let id: UInt64
    let operation: String
    let arguments: Payload
    let timeoutMs: Int?
    let isStream: Bool
    private let observer: any CallObserver
    private let ended: @Sendable () -> Void
    private static let last = Atomic<UInt64>(0)

    private struct State {
        var isAnswered = false
        var isOver = false
        var isCancelled = false
        var items: [StreamItem] = []
        var taken = 0
        var onCancel: (@Sendable (FakeCall) -> Void)?
    }

    private let state = Mutex(State())

    init(
        _ operation: String, _ arguments: Payload, _ timeoutMs: Int?, _ observer: any CallObserver, isStream: Bool,
        ended: @escaping @Sendable () -> Void
    ) {
        id = Self.last.add(1, ordering: .relaxed).newValue
        (self.operation, self.arguments, self.timeoutMs) = (operation, arguments, timeoutMs)
        (self.observer, self.isStream, self.ended) = (observer, isStream, ended)
    }

    /// The arguments, as a person reads them.
    var text: String { String(decoding: arguments.json, as: UTF8.self) }
    var value: JSON { arguments.value ?? .null }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    /// How many items the script took.
    var taken: Int { state.withLock { $0.taken } }
    var waiting: Int { state.withLock { $0.items.count } }

    func onCancel(_ handler: @escaping @Sendable (FakeCall) -> Void) { state.withLock { $0.onCancel = handler } }

    /// Answers a call.
    func reply(_ payload: Payload) {
        guard finish() else { return }
        observer.answered(self, .success(payload))
    }

    func reply(_ json: JSON) { reply(Payload(json)) }

    /// Opens a stream.
    func open(_ json: JSON = [:]) {
        state.withLock { $0.isAnswered = true }
        observer.answered(self, .success(Payload(json)))
    }

    func event(_ name: String, _ payload: Payload) { push(.event(name: name, payload)) }
    func event(_ name: String, _ json: JSON) { push(.event(name: name, Payload(json))) }

    func end(_ final: JSON? = nil, reason: String = "finished") {
        push(.end(final.map { Payload($0) }, reason: reason))
    }

    func fail(_ error: HostError) {
        let isOpen = state.withLock { $0.isAnswered }
        if isOpen { return push(.failed(error)) }
        guard finish() else { return }
        observer.answered(self, .failure(error))
    }

    private func push(_ item: StreamItem) {
        let isLate = state.withLock { state in
            if state.isOver { return true }
            state.items.append(item)
            return false
        }
        if !isLate { observer.eventsReady(self) }
    }

    private func finish() -> Bool {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        if isFirst { ended() }
        return isFirst
    }

    func cancel() {
        let (isOpen, handler, isOver) = state.withLock { state in
            state.isCancelled = true
            return (state.isAnswered, state.onCancel, state.isOver)
        }
        if isOver { return }
        if let handler { return handler(self) }
        if isOpen { end(reason: "cancelled") } else { fail(.cancelled) }
    }

    func next() -> StreamItem? {
        let item: StreamItem? = state.withLock { state in
            guard !state.items.isEmpty else { return nil }
            state.taken += 1
            return state.items.removeFirst()
        }
        switch item {
        case .end, .failed: _ = finish()
        case .event, nil: break
        }
        return item
    }
}
