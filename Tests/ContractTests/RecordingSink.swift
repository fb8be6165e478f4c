import ApsuleKit
import Foundation
import HostCore
import Synchronization

/// The host's side of one call, which notes all that the provider says and answers as the test wants.
final class RecordingSink: CallSink {
    enum Said: Sendable, Equatable {
        case reply(JSON?)
        case fail(String)
        case event(String, JSON?)
        case end(JSON?)

        var isTerminal: Bool {
            switch self {
            case .fail, .end: true
            case .reply, .event: false
            }
        }
    }

    struct Hooks: Sendable {
        var event: @Sendable (_ index: Int) -> Flow = { _ in .proceed }
        var openPath: @Sendable (String, Int32, UInt32) -> Int32 = { _, _, _ in -EPERM }
        var allows: @Sendable (String, String) -> Bool = { _, _ in false }
    }

    let isStream: Bool
    private let hooks: Hooks
    private let state = Mutex(State())

    private struct State {
        var said: [Said] = []
        var payloads: [Payload] = []
        var errors: [HostError] = []
        var events = 0
    }

    init(isStream: Bool, hooks: Hooks = Hooks()) { (self.isStream, self.hooks) = (isStream, hooks) }

    var said: [Said] { state.withLock { $0.said } }
    var errors: [HostError] { state.withLock { $0.errors } }
    /// Every payload, in order: replies, events and ends.
    var payloads: [Payload] { state.withLock { $0.payloads } }
    var eventCount: Int { state.withLock { $0.events } }
    /// The `i` of each event.
    var numbers: [Int64] {
        said.compactMap { if case .event(_, let json) = $0 { json?["i"]?.intValue } else { nil } }
    }
    var terminals: Int { said.count { $0.isTerminal || !isStream && $0 != .fail("") && !isEvent($0) } }
    var isDone: Bool { terminals > 0 }

    private func isEvent(_ said: Said) -> Bool { if case .event = said { true } else { false } }

    func reply(_ result: Payload?) { note(.reply(result?.value), result) }

    func fail(_ error: HostError) {
        state.withLock { $0.errors.append(error) }
        note(.fail(error.code), nil)
    }

    func end(_ final: Payload?) { note(.end(final?.value), final) }

    func event(_ name: String, _ payload: Payload?) -> Flow {
        note(.event(name, payload?.value), payload)
        let index = state.withLock { state in
            defer { state.events += 1 }
            return state.events
        }
        return hooks.event(index)
    }

    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 { hooks.openPath(path, flags, mode) }

    func allows(_ scope: String, _ value: String) -> Bool { hooks.allows(scope, value) }

    /// Forgets the payloads, and with them their blobs.
    func forget() { state.withLock { $0.payloads = [] } }

    private func note(_ said: Said, _ payload: Payload?) {
        state.withLock { state in
            state.said.append(said)
            if let payload { state.payloads.append(payload) }
        }
    }
}

/// What a provider gets from the host, noted.
final class RecordingHost: ProviderHost {
    private let state = Mutex<[String]>([])
    private let folder: Int32

    init(data: String) { folder = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }

    deinit { close(folder) }

    var logged: [String] { state.withLock { $0 } }

    func log(_ level: LogLevel, family: String, _ message: String) {
        state.withLock { $0.append("\(level) \(family): \(message)") }
    }

    func dataDirectory(family: String) -> Int32 { folder }
}
