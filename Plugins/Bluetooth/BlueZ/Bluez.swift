import ApsuleDBus
import ApsuleKit
internal import Synchronization

/// This instance's one client of the Bluetooth daemon: a bus connection of its own, and a mirror of BlueZ's objects.
///
/// BlueZ ties discovery sessions and agents to the connection, so nothing outlives this object. Everything that BlueZ
/// says is applied on the D-Bus thread in the order of the wire; listeners run there and must not block.
final class Bluez: Sendable {
    enum Change: Sendable {
        /// The daemon went away, or is (again) there and its objects are known.
        case daemon(isRunning: Bool)
        case object(ObjectTree.Change)
    }

    static let name = "org.bluez"
    private let bus: DBusBus
    private let state = Mutex(State())
    private let starting = Starting()
    private let listeners = Listeners<Change>()

    private struct State {
        var connection: DBusConnection?
        /// The unique name of the daemon that the tree belongs to.
        var owner: String?
        var isLoaded = false
        var tree = ObjectTree()
        var subscriptions: [Subscription] = []
        /// Of the advertisements of the present owner.
        var gathering: Subscription?
    }

    init(bus: DBusBus = .system) { self.bus = bus }

    // MARK: - Reading

    func read<R>(_ body: (ObjectTree) -> R) -> R { state.withLock { body($0.tree) } }
    func device(_ path: String) -> Device? { state.withLock { $0.tree.devices[path] } }
    var owner: String? { state.withLock { $0.owner } }
    var isLoaded: Bool { state.withLock { $0.isLoaded } }

    /// Calls `listener` on the D-Bus thread for every change until the subscription ends.
    func listen(_ listener: @escaping @Sendable (Change) -> Void) -> Subscription { listeners.add(listener) }

    // MARK: - Calling

    /// - Throws: this family's error for what BlueZ answered.
    @discardableResult
    func call(
        _ path: String, _ interface: String, _ method: String, _ arguments: DBusValue..., context: BluezErrors.Context,
        timeout: Duration = .seconds(10)
    ) async throws(HostError) -> [DBusValue] {
        try await call(DBusCall(Self.name, path, interface, method, arguments, timeout: timeout), context: context)
    }

    /// - Parameter atAnswer: runs on the D-Bus thread when the call has succeeded, before any later change is told.
    @discardableResult
    func call(
        _ call: DBusCall, context: BluezErrors.Context, atAnswer: (@Sendable () -> Void)? = nil
    ) async throws(HostError) -> [DBusValue] {
        let connection = try await connection()
        let answer = OneShot<[DBusValue]>()
        let pending = connection.send(call) { result in
            if case .success = result { atAnswer?() }
            answer.finish(result.mapError { BluezErrors.hostError($0, context) })
        }
        do {
            return try await withTaskCancellationHandler {
                try await answer.value()
            } onCancel: {
                pending.cancel()
            }
        } catch {
            throw error as? HostError ?? .cancelled
        }
    }

    /// Sends a call whose answer nobody waits for.
    func send(_ path: String, _ interface: String, _ method: String, _ arguments: DBusValue...) {
        send(DBusCall(Self.name, path, interface, method, arguments))
    }

    func send(_ call: DBusCall) { state.withLock { $0.connection }?.send(call) { _ in } }

    /// Whether the bus is there, also without the daemon.
    var hasConnection: Bool { state.withLock { $0.connection != nil } }

    /// The connection, with the daemon's objects loaded.
    func connection() async throws(HostError) -> DBusConnection {
        if let connection = state.withLock({ $0.isLoaded ? $0.connection : nil }) { return connection }
        try await starting.run { [self] () async throws(HostError) in try await start() }
        guard let connection = state.withLock({ $0.connection }) else {
            throw BluezErrors.daemonMissing("The system message bus closed the connection.")
        }
        return connection
    }

    // MARK: - Starting

    private func start() async throws(HostError) {
        do {
            let connection: DBusConnection
            if let open = state.withLock({ $0.connection }), !open.isClosed {
                connection = open
            } else {
                connection = try await DBusConnection.open(bus)
                attach(connection)
            }
            let loaded = OneShot<Void>()
            load(connection) { result in loaded.finish(result.mapError { $0 }) }
            try await loaded.value()
        } catch let error as DBusError {
            throw BluezErrors.hostError(error, .adapter)
        } catch {
            throw .cancelled
        }
    }

    /// Subscribes first and loads afterwards, so that no change is lost in between.
    private func attach(_ connection: DBusConnection) {
        let manager = "org.freedesktop.DBus.ObjectManager"
        let properties = "org.freedesktop.DBus.Properties"
        let subscriptions = [
            connection.subscribe(DBusSignalFilter(sender: Self.name, interface: manager)) { [weak self] in
                self?.apply($0)
            },
            connection.subscribe(
                DBusSignalFilter(sender: Self.name, interface: properties, member: "PropertiesChanged")
            ) { [weak self] in self?.apply($0) },
            connection.watchName(Self.name) { [weak self, weak connection] owner in
                if let connection { self?.ownerChanged(owner, connection) }
            },
            connection.onClosed { [weak self] in self?.lost(connection: true) },
        ]
        let before = state.withLock { state in
            defer { (state.connection, state.subscriptions) = (connection, subscriptions) }
            return state.subscriptions
        }
        for subscription in before { subscription.cancel() }
    }

    /// Asks for all objects; the answer is applied in order with the signals around it.
    private func load(
        _ connection: DBusConnection, _ completion: @escaping @Sendable (Result<Void, DBusError>) -> Void
    ) {
        let call = DBusCall(Self.name, "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        connection.send(call) { [weak self] result in
            if case .success(let values) = result { self?.loaded(ObjectTree(managedObjects: values.first)) }
            completion(result.map { _ in })
        }
    }

    private func loaded(_ tree: ObjectTree) {
        state.withLock { state in
            state.tree = tree
            state.isLoaded = true
        }
        listeners.tell(.daemon(isRunning: true))
    }

    private func ownerChanged(_ owner: String?, _ connection: DBusConnection) {
        let before = state.withLock { state in
            defer { state.owner = owner }
            return state.owner
        }
        guard owner != before else { return }
        gather(from: owner, connection)
        if before != nil { lost(connection: false) }
        // The first owner is loaded by whoever starts; a later one is a daemon that came back.
        if owner != nil, !isLoaded, !starting.isRunning { load(connection) { _ in } }
    }

    /// Advertisements come by the hundred, and nobody need know of the next one at once.
    private func gather(from owner: String?, _ connection: DBusConnection) {
        let gathering = owner.map { owner in
            connection.gather(
                DBusGathering(
                    sender: owner, interface: "org.bluez.Device1", properties: Device.advertisedProperties,
                    interval: .milliseconds(100))
            ) { [weak self] in self?.apply($0) }
        }
        let before = state.withLock { state in
            defer { state.gathering = gathering }
            return state.gathering
        }
        before?.cancel()
    }

    /// The daemon or the whole bus is gone: what it told no longer holds.
    private func lost(connection isClosed: Bool) {
        let wasLoaded = state.withLock { state in
            defer { (state.tree, state.isLoaded) = (ObjectTree(), false) }
            if isClosed { (state.connection, state.owner) = (nil, nil) }
            return state.isLoaded
        }
        if wasLoaded { listeners.tell(.daemon(isRunning: false)) }
    }

    private func apply(_ signal: DBusSignal) {
        let changes = state.withLock { $0.isLoaded ? $0.tree.apply(signal) : [] }
        for change in changes { listeners.tell(.object(change)) }
    }

    /// Hands over what is queued and closes the connection; blocks for that moment.
    func close() {
        let (connection, subscriptions) = state.withLock { state in
            defer { (state.connection, state.subscriptions, state.gathering) = (nil, [], nil) }
            return (state.connection, state.subscriptions + (state.gathering.map { [$0] } ?? []))
        }
        for subscription in subscriptions { subscription.cancel() }
        connection?.flush()
        connection?.close()
    }
}
