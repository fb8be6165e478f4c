import ApsuleDBus
import ApsuleKit
internal import Synchronization

/// The devices that this project is connected to.
///
/// BlueZ's link belongs to the machine: one that another program made is used but not cut.
final class Connections: Sendable {
    struct Connection: Sendable {
        let id: String
        let path: String
        let name: String?
        /// Whether this project made the link.
        let isOurs: Bool
    }

    enum Reason: String, Sendable { case requested, lost, daemonStopped }

    enum Event: Sendable {
        case connected(Connection)
        case disconnected(Connection, Reason)
    }

    private let bluez: Bluez
    private let connections = Mutex<[String: Connection]>([:])
    /// Ids for which a connect is under way.
    private let connecting = Mutex<Set<String>>([])
    /// BlueZ takes a moment to give an attempt up; what is asked of it before is lost.
    private static let pause = Duration.seconds(1)
    private let isSettled = Mutex(ContinuousClock.now)
    private let listeners = Listeners<Event>()
    private let listening = Mutex<Subscription?>(nil)

    init(_ bluez: Bluez) {
        self.bluez = bluez
        let subscription = bluez.listen { [weak self] in self?.changed($0) }
        listening.withLock { $0 = subscription }
    }

    subscript(id: String) -> Connection? { connections.withLock { $0[id] } }

    func listen(_ listener: @escaping @Sendable (Event) -> Void) -> Subscription { listeners.add(listener) }

    func add(_ connection: Connection) {
        connections.withLock { $0[connection.id] = connection }
        listeners.tell(.connected(connection))
        // The link may have gone before it was noted here.
        if bluez.device(connection.path)?.isConnected != true { remove(path: connection.path, .lost) }
    }

    func remove(path: String, _ reason: Reason) {
        let connection = connections.withLock { connections in
            connections.values.first { $0.path == path }.flatMap { connections.removeValue(forKey: $0.id) }
        }
        if let connection { listeners.tell(.disconnected(connection, reason)) }
    }

    /// Runs one connect for a device at a time.
    func exclusively<R>(_ id: String, _ body: () async throws(HostError) -> R) async throws(HostError) -> R {
        guard connecting.withLock({ $0.insert(id).inserted }) else {
            throw BluezErrors.make("in_progress", "This device is being connected already.")
        }
        defer { connecting.withLock { _ = $0.remove(id) } }
        return try await body()
    }

    /// An attempt was given up just now.
    func unsettle() { isSettled.withLock { $0 = .now + Self.pause } }

    /// Waits until BlueZ has taken that an attempt was given up.
    func settle() async throws(HostError) {
        do {
            try await Task.sleep(until: isSettled.withLock { $0 })
        } catch {
            throw .cancelled
        }
    }

    private func changed(_ change: Bluez.Change) {
        switch change {
        case .object(.device(let device, _)):
            if !device.isConnected { remove(path: device.path, .lost) }
        case .object(.deviceRemoved(let device)): remove(path: device.path, .lost)
        case .daemon(isRunning: false):
            for path in connections.withLock({ $0.values.map(\.path) }) { remove(path: path, .daemonStopped) }
        default: break
        }
    }

    /// Cuts the links that this project made; the answer is not awaited.
    func close() {
        let ours = connections.withLock { connections in
            defer { connections = [:] }
            return connections.values.filter(\.isOurs)
        }
        for connection in ours { bluez.send(connection.path, "org.bluez.Device1", "Disconnect") }
    }
}
