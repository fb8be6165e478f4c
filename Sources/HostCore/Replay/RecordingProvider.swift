internal import ApsuleKit

/// A family whose calls are written down as they go through.
final class RecordingProvider: Provider {
    private let provider: any Provider
    private let recorder: CallRecorder
    private let descriptor: Descriptor
    private let live = LiveCalls<Int64>()

    init(_ provider: any Provider, _ descriptor: Descriptor, recorder: CallRecorder) {
        (self.provider, self.descriptor, self.recorder) = (provider, descriptor, recorder)
    }

    var operations: [String] { provider.operations }
    var answersInline: Bool { provider.answersInline }

    func invoke(_ index: Int, call: UInt64, arguments: Payload, sink: any CallSink) {
        guard let operation = descriptor.operation(operations[index]) else {
            return provider.invoke(index, call: call, arguments: arguments, sink: sink)
        }
        // The dispatcher numbers calls as the script makes them; threads may bring them here in another order.
        let number = Int64(clamping: call)
        recorder.call(number, CallKey(operation, arguments))
        live.set(call, number)
        let over: @Sendable () -> Void = { [live] in live.remove(call) }
        let recording = RecordingSink(sink, recorder, number, Redaction(operation), over: over)
        provider.invoke(index, call: call, arguments: arguments, sink: recording)
    }

    func cancel(_ call: UInt64) {
        // A cancel is repeated; it is one all the same.
        if let number = live.remove(call) { recorder.note(number, "cancel", true) }
        provider.cancel(call)
    }

    func resume(_ call: UInt64) { provider.resume(call) }

    func overdue(_ call: UInt64) { provider.overdue(call) }

    func close() { provider.close() }
}

/// Writes down what a provider says of one call, then passes it on.
private final class RecordingSink: CallSink {
    private let sink: any CallSink
    private let recorder: CallRecorder
    private let number: Int64
    private let redaction: Redaction
    private let over: @Sendable () -> Void

    init(
        _ sink: any CallSink, _ recorder: CallRecorder, _ number: Int64, _ redaction: Redaction,
        over: @escaping @Sendable () -> Void
    ) {
        (self.sink, self.recorder, self.number, self.redaction) = (sink, recorder, number, redaction)
        self.over = over
    }

    var isStream: Bool { sink.isStream }

    func reply(_ result: Payload?) {
        recorder.note(number, "reply", redaction.apply(result ?? .null, at: "result"))
        if !isStream { over() }
        sink.reply(result)
    }

    func fail(_ error: HostError) {
        recorder.note(number, "fail", redaction.apply(error))
        over()
        sink.fail(error)
    }

    func event(_ name: String, _ payload: Payload?) -> Flow {
        recorder.note(number, "value", redaction.apply(payload ?? .emptyObject, at: "events", name), event: name)
        return sink.event(name, payload)
    }

    func end(_ final: Payload?) {
        recorder.note(number, "end", redaction.apply(final ?? .null, at: "result"))
        over()
        sink.end(final)
    }

    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 { sink.openPath(path, flags: flags, mode: mode) }
    func allows(_ scope: String, _ value: String) -> Bool { sink.allows(scope, value) }
}
