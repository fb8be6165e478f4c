import ApsuleDBus
import ApsuleKit
internal import Synchronization

/// Which characteristics notify: one session at BlueZ for each, however many subscriptions it has.
///
/// BlueZ shows the values of other programs' sessions as well, so a receiver gets them only while its own is on.
actor Notifications {
    private struct Receiver: Sendable {
        let path: String
        let receive: @Sendable ([UInt8]) -> Void
        var isOn = false
    }

    private let bluez: Bluez
    private var sessions: Set<String> = []
    /// Paths for which a start or a stop is under way, and who waits for its end.
    private var queues: [String: [CheckedContinuation<Void, Never>]] = [:]
    private var next = 0
    private var listening: Subscription?
    private let receivers = Mutex<[Int: Receiver]>([:])

    init(_ bluez: Bluez) { self.bluez = bluez }

    /// Starts notifications and delivers each value on the D-Bus thread until the subscription ends.
    func start(
        _ path: String, _ receive: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(HostError) -> Subscription {
        listen()
        next += 1
        let id = next
        receivers.withLock { $0[id] = Receiver(path: path, receive: receive) }
        await acquire(path)
        defer { release(path) }
        if sessions.insert(path).inserted {
            do throws(HostError) {
                // Switched on when the answer arrives, before the first value after it.
                try await bluez.call(call(path, "StartNotify"), context: .attribute) { [weak self] in self?.switchOn(id)
                }
            } catch {
                sessions.remove(path)
                receivers.withLock { _ = $0.removeValue(forKey: id) }
                bluez.send(call(path, "StopNotify"))
                throw error
            }
        } else {
            switchOn(id)
        }
        return Subscription { [weak self] in Task { await self?.stop(path, id) } }
    }

    private func stop(_ path: String, _ id: Int) async {
        receivers.withLock { _ = $0.removeValue(forKey: id) }
        await acquire(path)
        defer { release(path) }
        guard !receivers.withLock({ $0.values.contains { $0.path == path } }) else { return }
        guard sessions.remove(path) != nil else { return }
        // Also after a lost link: BlueZ would start the session again with the next one.
        _ = try? await bluez.call(call(path, "StopNotify"), context: .attribute)
    }

    private nonisolated func call(_ path: String, _ method: String) -> DBusCall {
        DBusCall(Bluez.name, path, "org.bluez.GattCharacteristic1", method, timeout: .seconds(25))
    }

    private nonisolated func switchOn(_ id: Int) { receivers.withLock { $0[id]?.isOn = true } }

    // MARK: -

    private func listen() {
        guard listening == nil else { return }
        listening = bluez.listen { [weak self] change in
            switch change {
            case .object(.value(let path, let bytes)): self?.deliver(path, bytes)
            case .daemon(isRunning: false): Task { await self?.forget() }
            default: break
            }
        }
    }

    private nonisolated func deliver(_ path: String, _ bytes: [UInt8]) {
        let on = receivers.withLock { $0.values.filter { $0.path == path && $0.isOn } }
        for receiver in on { receiver.receive(bytes) }
    }

    /// A daemon that starts again knows of no session.
    private func forget() { sessions = [] }

    private func acquire(_ path: String) async {
        guard queues[path] != nil else {
            queues[path] = []
            return
        }
        await withCheckedContinuation { queues[path, default: []].append($0) }
    }

    private func release(_ path: String) {
        if queues[path]?.isEmpty == false { queues[path]?.removeFirst().resume() } else { queues[path] = nil }
    }
}
