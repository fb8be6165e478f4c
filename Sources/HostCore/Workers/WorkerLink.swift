public import ApsuleKit
internal import Synchronization

/// The worker's end of the control socket: asks the parent, hears of revocations and of its end.
public final class WorkerLink: Authority, PermissionDesk {
    public let channel: ControlChannel
    private let state = Mutex(State())

    private struct State {
        var next: Int64 = 0
        var waiting: [Int64: @Sendable (JSON, [OwnedFile]) -> Void] = [:]
        var revoked: [@Sendable (Revocation) -> Void] = []
        var pluginHosts: [Int64: ParentsProcess] = [:]
        var families: (@Sendable (JSON?) -> Void)?
        var isClosed = false
    }

    public init(_ channel: ControlChannel) { self.channel = channel }

    /// Serves the socket until the parent ends it or says stop; runs on the caller's thread.
    public func run() {
        while let message = channel.receive() {
            switch message.kind {
            case .answer:
                guard let id = message.body["id"]?.intValue else { continue }
                let completion = state.withLock { $0.waiting.removeValue(forKey: id) }
                completion?(message.body, message.files)
            case .revoked:
                guard let permission = message.body["permission"]?.stringValue else { continue }
                for handler in state.withLock({ $0.revoked }) { handler(Revocation(permission: permission)) }
            case .pluginHost:
                guard let number = message.body["ended"]?.intValue else { continue }
                let process = state.withLock { $0.pluginHosts.removeValue(forKey: number) }
                process?.ended(ProcessEnd(json: message.body["how"] ?? .null))
            case .families: state.withLock { $0.families }?(message.body["families"])
            case .stop: return
            default: break
            }
        }
        // Without a parent nobody can allow anything any more.
        let open = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for completion in open { completion(.null, []) }
    }

    /// Hears of plugins in folders that only the parent sees; to be set before `run`.
    public func onFamilies(_ handler: @escaping @Sendable (JSON?) -> Void) { state.withLock { $0.families = handler } }

    private func ask(_ kind: ControlKind, _ body: JSON, _ completion: @escaping @Sendable (JSON) -> Void) {
        ask(kind, body, withFiles: { answer, _ in completion(answer) })
    }

    private func ask(
        _ kind: ControlKind, _ body: JSON, withFiles completion: @escaping @Sendable (JSON, [OwnedFile]) -> Void
    ) {
        let id: Int64? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.next += 1
            state.waiting[state.next] = completion
            return state.next
        }
        var body = body
        body.set("id", id.map { .int($0) })
        guard let id else { return completion(.null, []) }
        if !channel.send(kind, body) { state.withLock { $0.waiting.removeValue(forKey: id) }?(.null, []) }
    }

    /// Has the parent start the plugin-host of a family, whose memory this process must not see.
    func startPluginHost(_ family: String) throws(HostError) -> PluginHostConnection {
        let answer = OneAnswer<Result<PluginHostConnection, HostError>>()
        ask(
            .pluginHost, ["family": .string(family)],
            withFiles: { [self] body, files in
                guard let socket = files.first, let id = body["process"]?.intValue else {
                    return answer.give(.failure(HostError(json: body["error"] ?? .null, fallback: "plugin.crashed")))
                }
                // Known before the next message is read, which may tell of its end.
                let process = ParentsProcess(id, channel)
                state.withLock { $0.pluginHosts[id] = process }
                answer.give(.success(PluginHostConnection(socket: socket, process: process)))
            })
        return try answer.wait().get()
    }

    // MARK: - Authority

    public func decide(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void) {
        ask(.ask, question.json) { completion(Verdict(json: $0["verdict"] ?? .null)) }
    }

    public func allows(_ question: Question, once: Bool) -> Bool {
        let answer = OneAnswer<Bool>()
        var body = question.json
        body.set("once", .bool(once))
        ask(.allows, body) { answer.give($0["allowed"] == true) }
        return answer.wait()
    }

    public func note(_ question: Question, count: Int) {
        var body = question.json
        body.set("count", .int(Int64(count)))
        channel.send(.note, body)
    }

    public func onRevoked(_ handler: @escaping @Sendable (Revocation) -> Void) {
        state.withLock { $0.revoked.append(handler) }
    }

    // MARK: - PermissionDesk

    public func summary(_ completion: @escaping @Sendable ([(String, String)]) -> Void) {
        ask(.desk, ["what": "summary"]) { answer in
            completion((answer["states"]?.members ?? []).map { ($0.key, $0.value.stringValue ?? "denied") })
        }
    }

    public func status(_ permission: String, _ completion: @escaping @Sendable (String) -> Void) {
        ask(.desk, ["what": "status", "permission": .string(permission)]) {
            completion($0["state"]?.stringValue ?? "denied")
        }
    }

    public func request(_ permission: String, _ completion: @escaping @Sendable (String) -> Void) {
        ask(.desk, ["what": "request", "permission": .string(permission)]) {
            completion($0["state"]?.stringValue ?? "denied")
        }
    }
}

/// A plugin-host that the parent started and watches.
private final class ParentsProcess: PluginHostProcess {
    private let id: Int64
    private let channel: ControlChannel
    private let end = Mutex<ProcessEnd?>(nil)
    private let hasEnded = Signal()

    init(_ id: Int64, _ channel: ControlChannel) { (self.id, self.channel) = (id, channel) }

    func ended(_ end: ProcessEnd?) {
        self.end.withLock { $0 = end }
        hasEnded.post()
    }

    func wait(milliseconds: Int) -> ProcessEnd? {
        if let end = end.withLock({ $0 }) { return end }
        _ = hasEnded.wait(milliseconds: milliseconds)
        return end.withLock { $0 }
    }

    func kill() { channel.send(.pluginHost, ["kill": .int(id)]) }
}

extension ProcessEnd {
    var json: JSON {
        switch self {
        case .exited(let code): ["exitStatus": .int(Int64(code))]
        case .signalled(let signal): ["signal": .int(Int64(signal))]
        }
    }

    init?(json: JSON) {
        if let signal = json["signal"]?.intValue {
            self = .signalled(Int32(truncatingIfNeeded: signal))
        } else if let code = json["exitStatus"]?.intValue {
            self = .exited(Int32(truncatingIfNeeded: code))
        } else {
            return nil
        }
    }
}
