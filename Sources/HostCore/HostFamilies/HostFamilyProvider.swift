public import ApsuleKit
internal import Synchronization

/// One call of a host family.
public struct HostCall: Sendable {
    public let arguments: JSON
    public let sink: any CallSink

    public func answer(_ json: JSON) { sink.reply(Payload(json)) }
}

/// Serves a family that is part of the host itself: plain closures by operation name.
public final class HostFamilyProvider: Provider {
    public typealias Body = @Sendable (HostCall) throws(HostError) -> Void
    /// Starts a stream; what it returns ends it.
    public typealias StreamBody = @Sendable (HostCall) throws(HostError) -> @Sendable () -> Void

    public let operations: [String]
    private let bodies: [Body?]
    private let streams: [StreamBody?]
    private let running = Mutex<[UInt64: (sink: any CallSink, stop: @Sendable () -> Void)]>([:])

    public init(calls: [(String, Body)], streams: [(String, StreamBody)] = []) {
        operations = calls.map(\.0) + streams.map(\.0)
        bodies = calls.map { $0.1 } + streams.map { _ in nil }
        self.streams = calls.map { _ in nil } + streams.map { $0.1 }
    }

    public func invoke(_ operation: Int, call: UInt64, arguments: Payload, sink: any CallSink) {
        let hostCall = HostCall(arguments: arguments.value ?? .object([]), sink: sink)
        do throws(HostError) {
            if let body = bodies[operation] { return try body(hostCall) }
            guard let stream = streams[operation] else { return }
            let stop = try stream(hostCall)
            running.withLock { $0[call] = (sink, stop) }
        } catch {
            sink.fail(error)
        }
    }

    public func cancel(_ call: UInt64) {
        guard let entry = running.withLock({ $0.removeValue(forKey: call) }) else { return }
        entry.stop()
        entry.sink.end(nil)
    }

    public func resume(_ call: UInt64) {}
    public func close() {}
}
