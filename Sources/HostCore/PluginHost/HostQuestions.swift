internal import ApsuleKit
internal import Glibc
internal import Synchronization

/// What a plugin asks of the host across the wire, and waits for: files, scopes, its folder.
final class HostQuestions: Sendable {
    private struct Answer {
        let result: Int32
        let file: OwnedFile?
    }

    private struct State {
        var next: UInt64 = 1
        var waiting: [UInt64: Signal] = [:]
        var answers: [UInt64: Answer] = [:]
        var isClosed = false
    }

    private let channel: FrameChannel
    private let state = Mutex(State())

    init(_ channel: FrameChannel) { self.channel = channel }

    /// The host's result, or -errno; a file that came along takes the place of the result.
    func ask(_ question: (UInt64) -> PluginReport) -> Int32 {
        let signal = Signal()
        let number: UInt64? = state.withLock { state in
            guard !state.isClosed else { return nil }
            defer { state.next += 1 }
            state.waiting[state.next] = signal
            return state.next
        }
        guard let number else { return -ECANCELED }
        guard let frame = try? question(number).frame(), channel.sendWaiting(frame) == .sent else {
            state.withLock { _ = $0.waiting.removeValue(forKey: number) }
            return -ECANCELED
        }
        signal.wait()
        guard let answer = state.withLock({ $0.answers.removeValue(forKey: number) }) else { return -ECANCELED }
        return answer.file?.release() ?? answer.result
    }

    func answer(_ number: UInt64, _ result: Int32, _ file: OwnedFile?) {
        let signal = state.withLock { state in
            let signal = state.waiting.removeValue(forKey: number)
            if signal != nil { state.answers[number] = Answer(result: result, file: file) }
            return signal
        }
        signal?.post()
    }

    /// Answers all with -ECANCELED, now and from now on.
    func close() {
        let signals = state.withLock { state in
            defer { state.waiting = [:] }
            state.isClosed = true
            return Array(state.waiting.values)
        }
        signals.forEach { $0.post() }
    }
}
