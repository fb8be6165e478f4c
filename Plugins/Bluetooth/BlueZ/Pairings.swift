import ApsuleDBus
import ApsuleKit
internal import Synchronization

/// Pairs one device at a time, with an agent that exists only meanwhile.
///
/// The agent is never the default one, and answers for the device of the pending call only: strangers who want to pair,
/// and pairings that the desktop starts, go to the desktop's agent.
///
/// Source: <https://github.com/bluez/bluez/blob/master/doc/org.bluez.Agent.rst>
final class Pairings: Sendable {
    /// What the person who answers can do.
    enum Capability: String, ArgumentValue, CaseIterable {
        case displayOnly, displayYesNo, keyboardOnly, keyboardDisplay, none

        /// As BlueZ spells it.
        var bluez: String {
            switch self {
            case .displayOnly: "DisplayOnly"
            case .displayYesNo: "DisplayYesNo"
            case .keyboardOnly: "KeyboardOnly"
            case .keyboardDisplay: "KeyboardDisplay"
            case .none: "NoInputNoOutput"
            }
        }
    }

    let record: PairedRecord
    private let bluez: Bluez
    private let state = Mutex(State())

    private struct State {
        var pending: PendingPairing?
        var next = 0
    }

    init(_ bluez: Bluez, record: PairedRecord) {
        self.bluez = bluez
        self.record = record
    }

    func pair(
        _ device: Device, _ id: String, _ capability: Capability, _ patience: Duration, _ events: EventStream
    ) async throws(HostError) {
        let connection = try await bluez.connection()
        let pending = try state.withLock { state throws(HostError) in
            guard state.pending == nil else {
                throw BluezErrors.make("in_progress", "Another device is being paired.")
            }
            state.next += 1
            let pending = PendingPairing("\(state.next)", device: device.path, patience: patience, events)
            state.pending = pending
            return pending
        }
        defer { state.withLock { $0.pending = nil } }
        events.open(["pairingId": .string(pending.id)])
        let agent: DBusPath = "/org/apsule/agent/\(pending.id)"
        do throws(HostError) {
            let exported = try await export(agent, pending, on: connection)
            defer { exported.cancel() }
            try await register(agent, capability)
            defer { bluez.send("/org/bluez", "org.bluez.AgentManager1", "UnregisterAgent", .path(agent)) }
            try await bluez.call(device.path, "org.bluez.Device1", "Pair", context: .pairing, timeout: .seconds(90))
        } catch {
            // BlueZ goes on pairing when only the caller has gone.
            bluez.send(device.path, "org.bluez.Device1", "CancelPairing")
            if error.code == "bluetooth.already_paired" { return }
            throw pending.isUnanswered ? BluezErrors.pairingUnanswered : error
        }
        try record.add(id)
    }

    /// - Returns: whether a question was waiting for it.
    func answer(_ id: String, accept: Bool, passkey: String?) -> Bool {
        guard let pending = state.withLock({ $0.pending }), pending.id == id else { return false }
        return pending.answer(accept: accept, passkey: passkey)
    }

    private typealias DBusPath = String

    private func register(_ agent: DBusPath, _ capability: Capability) async throws(HostError) {
        try await bluez.call(
            "/org/bluez", "org.bluez.AgentManager1", "RegisterAgent", .path(agent), .string(capability.bluez),
            context: .adapter)
    }

    private func export(
        _ agent: DBusPath, _ pending: PendingPairing, on connection: DBusConnection
    ) async throws(HostError) -> Subscription {
        do {
            return try await connection.export(agent, DBusInterface(xml: Agent.xml)) { [bluez] call in
                // Whoever is not the daemon has no questions to ask here.
                guard call.sender == bluez.owner else { return call.fail(Agent.rejected, "Not for you.") }
                pending.serve(call)
            }
        } catch {
            throw BluezErrors.hostError(error, .pairing)
        }
    }
}

extension BluezErrors {
    static let pairingUnanswered = make(
        "pairing_unanswered", "Nobody answered what the device asked.",
        fix: "Take the stream's events and answer with its confirm method.")
}
