import ApsuleKit
import Foundation
import Synchronization
import Testing

@testable import HostCore

/// A dispatcher over a fake provider and a fake authority.
final class FakeHost: Sendable {
    let dispatcher: Dispatcher
    let provider: FakeProvider
    let authority = FakeAuthority()
    let console = FakeConsole()
    let folder: TemporaryFolder

    init(authority real: (any Authority)? = nil, answersInline: Bool = true, tape: Tape = .none) throws {
        folder = try TemporaryFolder()
        let descriptor = try Descriptor(Self.descriptor)
        let provider = FakeProvider(descriptor.operations.map(\.name), answersInline: answersInline)
        self.provider = provider
        let registry = Registry(folders: [], hostFamilies: [descriptor])
        let catalog = Catalog(registry: registry) { _, _ in
            tape.player(descriptor) ?? tape.recorded(provider, descriptor)
        }
        let files = try ProjectFiles(data: folder.path + "/data", identity: .commandLine)
        dispatcher = Dispatcher(
            catalog: catalog, gate: Gate(authority: real ?? authority), files: files, inOrder: tape.played,
            console: console)
    }

    deinit { dispatcher.close() }

    /// Starts a call of the family `fake`.
    @discardableResult
    func start(_ operation: String, _ arguments: JSON = .object([]), timeoutMs: Int? = nil) -> Recorder {
        let recorder = Recorder()
        let call = dispatcher.start("fake.\(operation)", Payload(arguments), timeoutMs: timeoutMs, observer: recorder)
        recorder.call.withLock { $0 = call }
        return recorder
    }

    static let descriptor: JSON = [
        "apsule": 1, "family": "fake", "version": "1.0.0", "summary": "A family of the tests.",
        "operations": [
            "echo": ["summary": "Answers.", "arguments": anything, "timeout": ["default": 0, "maximum": 0]],
            "slow": ["summary": "Answers late.", "timeout": ["default": 200, "maximum": 1_000]],
            "quick": ["summary": "Answers at once.", "inline": true, "arguments": anything],
            "guarded": [
                "summary": "Needs a permission.", "arguments": scoped,
                "permission": ["name": "bluetooth", "scopes": ["services", "devices"]],
                "scope": ["services": ["argument": "services", "match": "uuid"]],
            ],
            "guardedQuick": ["summary": "Needs one at once.", "inline": true, "permission": "storage"],
            "path": [
                "summary": "Takes a path.", "permission": "storage",
                "arguments": [
                    "type": "object",
                    "properties": [
                        "from": ["type": "string", "format": "path", "x-access": "read"], "when": ["type": "boolean"],
                    ],
                ],
                "requires": [["when": "when", "permission": "network"]],
            ],
            "secret": [
                "summary": "Gives secrets away.", "arguments": anything, "kind": "stream",
                "events": ["code": ["type": "object"], "pin": ["type": "object"]],
                "redact": ["arguments.headers.authorization", "arguments.password", "events.pin", "events.code.code"],
            ],
            "key": ["summary": "Gives a key.", "redact": ["result"]],
            "secretTick": [
                "summary": "Ticks in secret.", "kind": "stream", "events": ["tick": ["type": "object"]],
                "redact": ["result"],
            ],
            "calendar": ["summary": "Writes.", "permission": "calendar", "level": "write"],
            "tick": [
                "summary": "Ticks.", "kind": "stream", "events": ["tick": ["type": "object"]],
                "final": ["type": "object"], "timeout": ["default": 300, "maximum": 1_000],
            ],
            "latest": [
                "summary": "Ticks.", "kind": "stream", "delivery": "latest", "events": ["tick": ["type": "object"]],
            ],
            "guardedTick": [
                "summary": "Ticks for those who may.", "kind": "stream", "events": ["tick": ["type": "object"]],
                "permission": ["name": "bluetooth", "scopes": ["services", "devices"]],
            ],
        ],
    ]

    private static let anything: JSON = ["type": "object", "properties": [:]]
    private static let scoped: JSON = [
        "type": "object", "properties": ["services": ["type": "array", "items": ["type": "string"]]],
    ]
}

/// What became of a call.
final class Recorder: CallObserver {
    let call = Mutex<(any RunningCall)?>(nil)
    private let state = Mutex(State())

    private struct State {
        var answers: [Result<Payload, HostError>] = []
        var items: [StreamItem] = []
        var faults: [String] = []
        var isLazy = false
        var terminals = 0
    }

    /// Takes nothing until told to.
    var isLazy: Bool {
        get { state.withLock { $0.isLazy } }
        set { state.withLock { $0.isLazy = newValue } }
    }

    func answered(_ call: any RunningCall, _ result: Result<Payload, HostError>) {
        state.withLock { state in
            if !state.answers.isEmpty { state.faults.append("answered twice") }
            if !state.items.isEmpty { state.faults.append("answered after an event") }
            state.answers.append(result)
        }
    }

    func eventsReady(_ call: any RunningCall) {
        state.withLock { state in
            if state.answers.isEmpty { state.faults.append("an event before the answer") }
            if case .failure = state.answers.first { state.faults.append("an event of a call that failed") }
        }
        if !isLazy { take(call) }
    }

    /// Takes up to `count` items.
    func take(_ call: (any RunningCall)? = nil, count: Int = .max) {
        guard let call = call ?? self.call.withLock({ $0 }) else { return }
        for _ in 0..<count {
            let isOver = state.withLock { state in
                guard let item = call.next() else { return true }
                if state.terminals > 0 { state.faults.append("something after the end") }
                if case .event = item {} else { state.terminals += 1 }
                state.items.append(item)
                return false
            }
            if isOver { return }
        }
    }

    func cancel() { call.withLock { $0 }?.cancel() }
    var id: UInt64 { call.withLock { $0 }?.id ?? 0 }
    var faults: [String] { state.withLock { $0.faults } }
    var answers: [Result<Payload, HostError>] { state.withLock { $0.answers } }
    var items: [StreamItem] { state.withLock { $0.items } }
    var events: [(name: String, value: JSON)] {
        items.compactMap { if case .event(let name, let payload) = $0 { (name, payload.value ?? .null) } else { nil } }
    }

    var value: JSON? { if case .success(let payload) = answers.first { payload.value } else { nil } }
    var error: HostError? { if case .failure(let error) = answers.first { error } else { nil } }

    /// `finished`, `cancelled`, or the code of the error the stream ended with.
    var end: String? {
        for item in items {
            if case .end(_, let reason) = item { return reason }
            if case .failed(let error) = item { return error.code }
        }
        return nil
    }

    var final: JSON? {
        for case .end(let final?, _) in items { return final.value }
        return nil
    }

    func answer() async throws -> Result<Payload, HostError> {
        try await eventually { !self.answers.isEmpty }
        return answers[0]
    }
}

/// Waits until something holds; fails the test after `seconds`.
func eventually(
    _ seconds: Double = 10, _ comment: Testing.Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) async throws {
    let limit = Clock.now + Int64(seconds * 1_000)
    while try !condition() {
        try #require(Clock.now < limit, comment ?? "it did not happen in time", sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// Runs what blocks on a thread of its own, so that it holds up no other test.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        HostCore.Thread.start(name: "test", stackSize: 8 << 20) { continuation.resume(with: Result { try body() }) }
    }
}

/// A folder of its own for a test, removed with the last reference.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "apsule-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @discardableResult
    func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }
}

/// A list that threads share.
final class Kept<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
    var count: Int { elements.withLock { $0.count } }
    func takeAll() -> [Element] {
        elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
    }
}
