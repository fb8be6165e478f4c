internal import ApsuleKit
internal import Synchronization

/// One recorded call, played to its sink at its times.
///
/// Everything reaches the sink on the clock's thread, so that order and a single terminal need no further care.
final class Playback: Sendable {
    private let call: Recording.Call
    private let sink: any CallSink
    private let clock: ReplayClock
    /// When the recording has nothing more, in milliseconds since the call's start.
    private let over: Int64
    private let start = Clock.nanoseconds
    /// More than any timeout, in milliseconds.
    private static let longest: Int64 = 1 << 40
    private let finished: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        var next = 0
        var holds = 0
        var isCancelled = false
        /// The receiver takes no more events, and will cancel.
        var isStopped = false
        var hasReplied = false
        var isOver = false
    }

    /// - Parameter finished: after the terminal.
    init(
        _ call: Recording.Call, over: Int64, sink: any CallSink, clock: ReplayClock,
        finished: @escaping @Sendable () -> Void
    ) {
        (self.call, self.over, self.sink, self.clock, self.finished) = (call, over, sink, clock, finished)
    }

    func begin() { clock.schedule(self, at: 0) }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        clock.schedule(self, at: 0)
    }

    func resume() {
        state.withLock { $0.holds -= 1 }
        clock.schedule(self, at: 0)
    }

    /// Gives what is due; the clock's thread.
    func step() {
        while true {
            switch state.withLock({ take(&$0) }) {
            case .nothing: return
            case .wait(let until): return clock.schedule(self, at: until)
            case .give(let what): give(what)
            case .end(let end):
                give(end)
                return finished()
            }
        }
    }

    /// Answers on the caller's thread, without waiting for the recorded time: for an operation that is inline.
    func answerNow() {
        state.withLock { $0.isOver = true }
        give(call.entries.first?.what ?? .fail(ReplayErrors.ended(call.key)))
        finished()
    }

    private enum Next {
        case nothing
        case wait(Int64)
        case give(Recording.What)
        case end(Recording.What)
    }

    private func take(_ state: inout State) -> Next {
        guard !state.isOver else { return .nothing }
        if state.isCancelled {
            state.isOver = true
            return .end(state.hasReplied ? remainder(state.next) : .fail(.cancelled))
        }
        guard state.holds <= 0, !state.isStopped else { return .nothing }
        let isAtEnd = state.next == call.entries.count
        var due = start + clock.duration(isAtEnd ? over : call.entries[state.next].after)
        if let givenUp = call.givenUp, isAtEnd || !call.entries[state.next].isEvent {
            // What the provider said then, it said because its caller had timed out or cancelled: by clocks that run as
            // ever, whatever the speed. So the caller goes first.
            due = max(due, start + (min(givenUp, Self.longest) + ActiveCall.patience) * 1_000_000)
        }
        if due > Clock.nanoseconds { return .wait(due) }
        guard !isAtEnd else {
            state.isOver = true
            return .end(.fail(ReplayErrors.ended(call.key)))
        }
        let what = call.entries[state.next].what
        state.next += 1
        switch what {
        case .reply(let payload):
            state.hasReplied = true
            // What cannot be opened has no events.
            state.isOver = !sink.isStream || payload == nil
        case .event: break
        case .end, .fail: state.isOver = true
        }
        return state.isOver ? .end(what) : .give(what)
    }

    /// What a stream that is cancelled ends with: what it ended with then.
    private func remainder(_ next: Int) -> Recording.What {
        if case .end(let final)? = call.entries[next...].last?.what { return .end(final) }
        return .end(.null)
    }

    private func give(_ what: Recording.What) {
        switch what {
        case .reply(let payload?): sink.reply(payload)
        case .end(let payload?): sink.end(payload)
        case .reply(nil), .end(nil): sink.fail(ReplayErrors.redacted(call.key))
        case .fail(let error): sink.fail(error)
        case .event(let name, let payload):
            let flow = sink.event(name, payload ?? .emptyObject)
            if flow == .hold { state.withLock { $0.holds += 1 } }
            if flow == .stop { state.withLock { $0.isStopped = true } }
        }
    }
}
