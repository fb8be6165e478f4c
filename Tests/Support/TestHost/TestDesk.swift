import ApsuleKit
import CApsule
import CHostCore
import Glibc
import Synchronization

/// What stands behind the `apsule_host` table: it takes answers and events, and notes what breaks the rules.
final class TestDesk: Sendable {
    let project: TestProject
    private let files: Int32
    private let data: Int32
    private let state = Mutex(State())

    private struct State {
        var calls: [UInt64: Entry] = [:]
        var last: UInt64 = 0
        var refusal: HostError?
        var violations: [String] = []
        var logged: [String] = []
        var isClosed = false
        var allows: @Sendable (String, String) -> Bool = { _, _ in true }
    }

    private struct Entry {
        let answer = OneShot<Message>()
        let ending = OneShot<Message>()
        var events: [(name: String, payload: Message)] = []
        var isAnswered = false
        var isEnded = false
        /// The answer of a stream is not its terminal.
        let isStream: Bool
        var isHeld = false
        var isDone: Bool { isEnded || isAnswered && !isStream }
    }

    init(_ project: TestProject) {
        self.project = project
        files = open(project.files, O_DIRECTORY | O_RDONLY | O_CLOEXEC)
        data = open(project.data, O_DIRECTORY | O_RDONLY | O_CLOEXEC)
    }

    deinit {
        Glibc.close(files)
        Glibc.close(data)
    }

    var refusal: HostError? { state.withLock { $0.refusal } }
    var violations: [String] { state.withLock { $0.violations } }
    var logged: [String] { state.withLock { $0.logged } }
    /// Calls without an answer, and streams without an end.
    var running: [UInt64] {
        state.withLock { $0.calls.filter { !$0.value.isDone }.map(\.key) }
    }

    func newCall(isStream: Bool) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.calls[state.last] = Entry(isStream: isStream)
            return state.last
        }
    }

    func answer(_ id: UInt64) -> OneShot<Message> { state.withLock { $0.calls[id]?.answer } ?? OneShot() }
    func ending(_ id: UInt64) -> OneShot<Message> { state.withLock { $0.calls[id]?.ending } ?? OneShot() }
    func events(_ id: UInt64) -> [(name: String, payload: Message)] { state.withLock { $0.calls[id]?.events ?? [] } }
    func hasEnded(_ id: UInt64) -> Bool { state.withLock { $0.calls[id]?.isDone ?? true } }
    func setHold(_ id: UInt64, _ hold: Bool) { state.withLock { $0.calls[id]?.isHeld = hold } }
    func setAllows(_ rule: @escaping @Sendable (String, String) -> Bool) { state.withLock { $0.allows = rule } }
    func violate(_ text: String) { state.withLock { $0.violations.append(text) } }
    func closed() { state.withLock { $0.isClosed = true } }
    func log(_ text: String) { state.withLock { $0.logged.append(text) } }
    func allows(_ scope: String, _ value: String) -> Bool { state.withLock { $0.allows }(scope, value) }
    func dataDirectory() -> Int32 { data }

    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        path.utf8.contains(0) ? -EINVAL : host_open_beneath(files, path, flags, mode & 0o777)
    }

    func reply(_ id: UInt64, _ message: Message) {
        change(id, "a second answer") { entry in
            guard !entry.isAnswered, !entry.isEnded else { return false }
            entry.isAnswered = true
            entry.answer.finish(.success(message))
            return true
        }
    }

    func fail(_ id: UInt64, _ error: HostError) {
        if id == 0 { return state.withLock { $0.refusal = error } }
        change(id, "an error after the terminal") { entry in
            guard !entry.isEnded, !entry.isAnswered || entry.isStream else { return false }
            entry.isEnded = true
            entry.answer.finish(.failure(error))
            entry.ending.finish(.failure(error))
            return true
        }
    }

    func event(_ id: UInt64, _ name: String, _ message: Message) -> Int32 {
        var flow = APSULE_STOP
        change(id, "an event of what is no stream, or after its end") { entry in
            guard entry.isStream, !entry.isEnded else { return false }
            entry.events.append((name, message))
            flow = entry.isHeld ? APSULE_HOLD : APSULE_CONTINUE
            return true
        }
        return Int32(bitPattern: flow.rawValue)
    }

    func end(_ id: UInt64, _ message: Message) {
        change(id, "an end of what is no stream, before its answer or after its terminal") { entry in
            guard entry.isStream, entry.isAnswered, !entry.isEnded else { return false }
            entry.isEnded = true
            entry.ending.finish(.success(message))
            return true
        }
    }

    private func change(_ id: UInt64, _ rule: String, _ body: (inout Entry) -> Bool) {
        state.withLock { state in
            guard !state.isClosed else { return state.violations.append("call \(id): \(rule), after close") }
            guard var entry = state.calls[id] else { return state.violations.append("call \(id) was never made") }
            if !body(&entry) { state.violations.append("call \(id): \(rule)") }
            state.calls[id] = entry
        }
    }
}
