internal import ApsuleKit
internal import Synchronization

/// A family that answers from a recording: neither its plugin nor its service is needed.
final class ReplayProvider: Provider {
    let operations: [String]
    private let descriptor: Descriptor
    private let calls: [CallKey: [Recording.Call]]
    private let duration: Int64
    private let clock: ReplayClock
    /// How often each call has been asked for.
    private let asked = Mutex<[CallKey: Int]>([:])
    private let live = LiveCalls<Playback>()

    init(_ descriptor: Descriptor, _ recording: Recording, speed: Double) {
        self.descriptor = descriptor
        operations = descriptor.operations.map(\.name)
        let prefix = descriptor.family + "."
        let mine = recording.calls.filter { $0.key.operation.hasPrefix(prefix) }.sorted { $0.number < $1.number }
        calls = Dictionary(grouping: mine, by: \.key)
        duration = recording.duration
        clock = ReplayClock(speed: speed)
    }

    func invoke(_ index: Int, call: UInt64, arguments: Payload, sink: any CallSink) {
        guard let operation = descriptor.operation(operations[index]) else { return sink.fail(.cancelled) }
        let key = CallKey(operation, arguments)
        let occurrence = asked.withLock { asked in
            asked[key, default: 0] += 1
            return asked[key, default: 0]
        }
        guard let recorded = calls[key], recorded.count >= occurrence else {
            let candidates = calls.filter { JSON.same($0.key.operation, key.operation) }
            return sink.fail(
                ReplayErrors.noMatch(key, occurrence, candidates: candidates.mapValues(\.count)))
        }
        let found = recorded[occurrence - 1]
        let playback = Playback(found, over: max(0, duration - found.start), sink: sink, clock: clock) { [live] in
            live.remove(call)
        }
        if operation.isInline { return playback.answerNow() }
        live.set(call, playback)
        playback.begin()
    }

    func cancel(_ call: UInt64) { live[call]?.cancel() }

    func resume(_ call: UInt64) { live[call]?.resume() }

    func close() { clock.close() }
}
