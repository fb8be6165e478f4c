import ApsuleDBus
import ApsuleKit
internal import Synchronization

/// The agent's interface and its errors.
enum Agent {
    static let rejected = "org.bluez.Error.Rejected"
    static let xml = """
        <node><interface name="org.bluez.Agent1">
          <method name="Release"/>
          <method name="Cancel"/>
          <method name="RequestPinCode"><arg type="o" direction="in"/><arg type="s" direction="out"/></method>
          <method name="DisplayPinCode"><arg type="o" direction="in"/><arg type="s" direction="in"/></method>
          <method name="RequestPasskey"><arg type="o" direction="in"/><arg type="u" direction="out"/></method>
          <method name="DisplayPasskey">
            <arg type="o" direction="in"/><arg type="u" direction="in"/><arg type="q" direction="in"/>
          </method>
          <method name="RequestConfirmation"><arg type="o" direction="in"/><arg type="u" direction="in"/></method>
          <method name="RequestAuthorization"><arg type="o" direction="in"/></method>
          <method name="AuthorizeService"><arg type="o" direction="in"/><arg type="s" direction="in"/></method>
        </interface></node>
        """

    /// Six digits, as devices show it.
    static func passkey(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}

/// One pairing under way: what the daemon asks goes out as an event, and waits for a person.
final class PendingPairing: Sendable {
    let id: String
    private let device: String
    private let patience: Duration
    private let events: EventStream
    private let state = Mutex(State())

    private struct State {
        /// The daemon's question that nobody has answered yet.
        var question: DBusInvocation?
        var timer: Task<Void, Never>?
        var isUnanswered = false
    }

    init(_ id: String, device: String, patience: Duration, _ events: EventStream) {
        self.id = id
        self.device = device
        self.patience = patience
        self.events = events
    }

    var isUnanswered: Bool { state.withLock { $0.isUnanswered } }

    /// A call of the daemon, on the D-Bus thread.
    func serve(_ call: DBusInvocation) {
        switch call.method {
        case "Release": return call.reply()
        case "Cancel":
            withdraw()
            return call.reply()
        default: break
        }
        guard call.arguments.first?.stringValue == device else {
            return call.fail(Agent.rejected, "Another device is being paired.")
        }
        let number = call.arguments.count > 1 ? call.arguments[1].intValue ?? 0 : 0
        switch call.method {
        case "RequestConfirmation": ask(call, "confirm", ["passkey": .string(Agent.passkey(number))])
        case "RequestPasskey": ask(call, "enter", ["digits": 6])
        case "RequestPinCode": ask(call, "enter", .object([]))
        case "DisplayPasskey":
            events.post("display", ["passkey": .string(Agent.passkey(number))])
            call.reply()
        case "DisplayPinCode":
            events.post("display", ["passkey": .string(call.arguments.last?.stringValue ?? "")])
            call.reply()
        // The project asked for this pairing, and there is no number to compare.
        case "RequestAuthorization": call.reply()
        default: call.fail(Agent.rejected, "Not part of a pairing.")
        }
    }

    private func ask(_ call: DBusInvocation, _ event: String, _ payload: JSON) {
        let timer = Task { [weak self, patience] in
            try? await Task.sleep(for: patience)
            if !Task.isCancelled { self?.giveUp() }
        }
        state.withLock { state in
            state.timer?.cancel()
            state.question = call
            state.timer = timer
        }
        events.post(event, payload)
    }

    /// - Returns: whether a question was waiting.
    func answer(accept: Bool, passkey: String?) -> Bool {
        guard let question = take() else { return false }
        guard accept else {
            question.fail(Agent.rejected, "A person refused.")
            return true
        }
        switch question.method {
        case "RequestPasskey":
            if let passkey, let number = UInt32(passkey), number <= 999_999 {
                question.reply(.uint32(number))
            } else {
                question.fail(Agent.rejected, "The passkey is not six digits.")
            }
        case "RequestPinCode": question.reply(.string(passkey ?? ""))
        default: question.reply()
        }
        return true
    }

    private func giveUp() {
        guard let question = take() else { return }
        state.withLock { $0.isUnanswered = true }
        question.fail(Agent.rejected, "Nobody answered.")
    }

    /// The daemon no longer wants to know.
    private func withdraw() { take()?.fail("org.bluez.Error.Canceled", "The question was withdrawn.") }

    private func take() -> DBusInvocation? {
        state.withLock { state in
            state.timer?.cancel()
            defer { state.question = nil }
            return state.question
        }
    }
}
