import ApsuleKit
import HostCore
import Synchronization

/// Stands between dispatcher and provider and counts what goes each way.
final class SpyProvider: Provider {
    struct Seen: Sendable {
        var terminals = 0
        var replies = 0
        var error: String?
        var isStream: Bool
    }

    private let provider: any Provider
    private let calls: Log

    /// What was seen of each call that reached the provider.
    final class Log: Sendable {
        private let calls = Mutex<[UInt64: Seen]>([:])

        var all: [UInt64: Seen] { calls.withLock { $0 } }
        func clear() { calls.withLock { $0 = [:] } }

        func change(_ call: UInt64, _ isStream: Bool, _ body: (inout Seen) -> Void) {
            calls.withLock { body(&$0[call, default: Seen(isStream: isStream)]) }
        }
    }

    init(_ provider: any Provider, _ calls: Log) { (self.provider, self.calls) = (provider, calls) }

    var operations: [String] { provider.operations }
    var answersInline: Bool { provider.answersInline }
    func cancel(_ call: UInt64) { provider.cancel(call) }
    func resume(_ call: UInt64) { provider.resume(call) }
    func close() { provider.close() }

    func invoke(_ operation: Int, call: UInt64, arguments: Payload, sink: any CallSink) {
        calls.change(call, sink.isStream) { _ in }
        provider.invoke(operation, call: call, arguments: arguments, sink: SpySink(call, sink, calls))
    }
}

private final class SpySink: CallSink {
    private let call: UInt64
    private let sink: any CallSink
    private let calls: SpyProvider.Log

    init(_ call: UInt64, _ sink: any CallSink, _ calls: SpyProvider.Log) {
        (self.call, self.sink, self.calls) = (call, sink, calls)
    }

    var isStream: Bool { sink.isStream }

    func reply(_ result: Payload?) {
        calls.change(call, isStream) { seen in
            seen.replies += 1
            if !seen.isStream { seen.terminals += 1 }
        }
        sink.reply(result)
    }

    func fail(_ error: HostError) {
        calls.change(call, isStream) { seen in
            seen.terminals += 1
            seen.error = error.code
        }
        sink.fail(error)
    }

    func end(_ final: Payload?) {
        calls.change(call, isStream) { $0.terminals += 1 }
        sink.end(final)
    }

    func event(_ name: String, _ payload: Payload?) -> Flow { sink.event(name, payload) }
    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 { sink.openPath(path, flags: flags, mode: mode) }
    func allows(_ scope: String, _ value: String) -> Bool { sink.allows(scope, value) }
}
