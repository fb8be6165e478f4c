internal import ApsuleKit
internal import Glibc
internal import Synchronization

/// One call in a plugin-host: what the plugin says of it goes over the wire.
final class ServedCall: CallSink {
    let isStream: Bool
    let isCancelled = Atomic(false)
    /// Whether the provider's `invoke` has returned.
    let isTaken = Atomic(false)
    private let id: UInt64
    private let channel: FrameChannel
    private let questions: HostQuestions
    private let ended: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        var window = StreamWindow.Sender()
        var isStopped = false
    }

    /// - Parameter ended: called after the terminal.
    init(
        _ id: UInt64, isStream: Bool, channel: FrameChannel, questions: HostQuestions,
        ended: @escaping @Sendable () -> Void
    ) {
        (self.id, self.isStream, self.channel, self.questions, self.ended) = (id, isStream, channel, questions, ended)
    }

    func reply(_ result: Payload?) {
        send(.reply(call: id, result))
        if !isStream { ended() }
    }

    func fail(_ error: HostError) {
        send(.fail(call: id, error))
        ended()
    }

    func end(_ final: Payload?) {
        send(.end(call: id, final))
        ended()
    }

    func event(_ name: String, _ payload: Payload?) -> Flow {
        guard isStream, !state.withLock({ $0.isStopped }) else { return .stop }
        let size = name.utf8.count + (payload?.json.count ?? 0) + (payload?.blobs.reduce(0) { $0 + $1.count } ?? 0)
        // Counted before it is sent, so that its grant cannot come first.
        let mustHold = state.withLock { $0.window.spend(size) }
        guard send(.event(call: id, name: name, payload)) else { return .stop }
        return mustHold ? .hold : .proceed
    }

    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        questions.ask { .openPath(question: $0, call: id, path: path, flags: flags, mode: mode) }
    }

    func allows(_ scope: String, _ value: String) -> Bool {
        questions.ask { .allows(question: $0, call: id, scope: scope, value: value) } == 1
    }

    /// How many resumes the plugin is owed now.
    func grant(events: Int, bytes: Int) -> Int { state.withLock { $0.window.grant(events: events, bytes: bytes) } }

    func stop() { state.withLock { $0.isStopped = true } }

    /// What cannot be sent fails the call.
    ///
    /// A plugin thread may wait here for the host, which always reads.
    @discardableResult
    private func send(_ report: PluginReport) -> Bool {
        do throws(HostError) {
            return channel.sendWaiting(try report.frame()) == .sent
        } catch {
            stop()
            if let frame = try? PluginReport.fail(call: id, error).frame() { channel.sendWaiting(frame) }
            return false
        }
    }
}
