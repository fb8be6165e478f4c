import ApsuleKit
import Glibc
import Synchronization

@testable import HostCore

/// One call as a fake provider sees it.
struct FakeCall: Sendable {
    let id: UInt64
    let operation: String
    let arguments: JSON
    let sink: any CallSink
}

/// A provider of closures that notes what the host does to it, and what the host does wrong.
final class FakeProvider: Provider {
    typealias Body = @Sendable (FakeCall) -> Void

    let operations: [String]
    let answersInline: Bool
    private let state = Mutex(State())

    private struct State {
        var bodies: [String: Body] = [:]
        var onCancel: Body?
        var live: [UInt64: FakeCall] = [:]
        var cancelled: [UInt64] = []
        var resumed: [UInt64: Int] = [:]
        var overdue: [UInt64] = []
        var inside = 0
        var isClosed = false
        var faults: [String] = []
    }

    init(_ operations: [String], answersInline: Bool = true) {
        (self.operations, self.answersInline) = (operations, answersInline)
    }

    /// What an operation does; without a body it answers with its arguments, a stream with a handle.
    func on(_ operation: String, _ body: @escaping Body) { state.withLock { $0.bodies[operation] = body } }
    func onCancel(_ body: @escaping Body) { state.withLock { $0.onCancel = body } }

    var cancelled: [UInt64] { state.withLock { $0.cancelled } }
    var overdueCalls: [UInt64] { state.withLock { $0.overdue } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    var faults: [String] { state.withLock { $0.faults } }
    func resumes(_ call: UInt64) -> Int { state.withLock { $0.resumed[call] ?? 0 } }
    func takeAll() -> [FakeCall] {
        state.withLock { state in
            defer { state.live = [:] }
            return Array(state.live.values)
        }
    }
    var live: [FakeCall] { state.withLock { Array($0.live.values) } }

    private func enter(_ what: String) {
        state.withLock { state in
            if state.isClosed { state.faults.append("\(what) after close") }
            state.inside += 1
        }
    }

    private func leave() { state.withLock { $0.inside -= 1 } }

    func invoke(_ operation: Int, call: UInt64, arguments: Payload, sink: any CallSink) {
        enter("invoke")
        defer { leave() }
        let entered = FakeCall(
            id: call, operation: operations[operation], arguments: arguments.value ?? .null, sink: sink)
        let body = state.withLock { state in
            state.live[call] = entered
            return state.bodies[operations[operation]]
        }
        if let body { return body(entered) }
        sink.reply(sink.isStream ? Payload(["id": "fake"]) : Payload(entered.arguments))
    }

    func overdue(_ call: UInt64) { state.withLock { $0.overdue.append(call) } }

    func cancel(_ call: UInt64) {
        enter("cancel")
        defer { leave() }
        let (entered, body) = state.withLock { state in
            state.cancelled.append(call)
            return (state.live[call], state.onCancel)
        }
        if let body {
            if let entered { body(entered) }
        } else if state.withLock({ $0.live.removeValue(forKey: call) }) != nil {
            // Every call ends once it is cancelled, unless the test says how.
            entered?.sink.fail(.cancelled)
        }
    }

    func resume(_ call: UInt64) {
        enter("resume")
        defer { leave() }
        state.withLock { $0.resumed[call, default: 0] += 1 }
    }

    func close() {
        state.withLock { state in
            if state.inside > 0 { state.faults.append("close while \(state.inside) are inside") }
            if state.isClosed { state.faults.append("close twice") }
            state.isClosed = true
        }
    }
}

/// An authority that answers as it is told to.
final class FakeAuthority: Authority {
    typealias Decide = @Sendable (Question, @escaping @Sendable (Verdict) -> Void) -> Void
    private let state = Mutex(State())

    private struct State {
        var decide: Decide = { $1(.allowed(once: false, expires: nil)) }
        var allows: @Sendable (Question, Bool) -> Bool = { _, _ in true }
        var handlers: [@Sendable (Revocation) -> Void] = []
        var asked: [Question] = []
        var noted: [(Question, Int)] = []
    }

    func onDecide(_ decide: @escaping Decide) { state.withLock { $0.decide = decide } }
    func onAllows(_ allows: @escaping @Sendable (Question, Bool) -> Bool) { state.withLock { $0.allows = allows } }
    var asked: [Question] { state.withLock { $0.asked } }
    var noted: [(Question, Int)] { state.withLock { $0.noted } }

    func decide(_ question: Question, _ completion: @escaping @Sendable (Verdict) -> Void) {
        let decide = state.withLock { state in
            state.asked.append(question)
            return state.decide
        }
        decide(question, completion)
    }

    func allows(_ question: Question, once: Bool) -> Bool {
        let allows = state.withLock { state in
            state.asked.append(question)
            return state.allows
        }
        return allows(question, once)
    }

    func note(_ question: Question, count: Int) { state.withLock { $0.noted.append((question, count)) } }
    func onRevoked(_ handler: @escaping @Sendable (Revocation) -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    func revoke(_ permission: String) {
        for handler in state.withLock({ $0.handlers }) { handler(Revocation(permission: permission)) }
    }
}

/// A console that keeps its lines.
final class FakeConsole: ConsoleSink {
    private let state = Mutex<[String]>([])
    var lines: [String] { state.withLock { $0 } }
    func write(_ level: LogLevel, source: String, _ text: String) { state.withLock { $0.append("\(source): \(text)") } }
}
