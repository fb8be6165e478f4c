internal import CGio
internal import Synchronization

/// Changes of properties that may wait a moment, so that a busy sender does not wake anybody for each of them.
public struct DBusGathering: Sendable, Hashable {
    /// The unique name of who tells of the changes, as in `:1.42`.
    public var sender: String
    /// The interface that the properties belong to.
    public var interface: String
    /// What may wait: a signal that tells of any other property is not gathered.
    public var properties: Set<String>
    /// How late the last of several may come.
    public var interval: Duration

    public init(sender: String, interface: String, properties: Set<String>, interval: Duration) {
        self.sender = sender
        self.interface = interface
        self.properties = properties
        self.interval = interval
    }
}

extension DBusConnection {
    /// Takes `PropertiesChanged` signals that may wait out of what `subscribe` has asked the bus for, and hands them over
    /// many at a time: the first after a silence at once, the others at most `interval` late.
    ///
    /// Only this handler gets them. They stay in the order of the wire with everything else on the connection: an answer
    /// or another signal that arrives behind them has them handed over first. Two gatherings have no order between them.
    public func gather(
        _ gathering: DBusGathering, _ handler: @escaping @Sendable (DBusSignal) -> Void
    ) -> Subscription {
        let gatherer = Gatherer(gathering, handler)
        let filter = registration(gatherer) { handle, registered in
            g_dbus_connection_add_filter(
                handle.pointer,
                { _, message, isIncoming, data in
                    guard isIncoming != 0, let message, let gatherer = Registered<Gatherer>.live(data) else {
                        return message
                    }
                    return gatherer.take(message) ? nil : message
                }, registered, { Registered<Gatherer>.release($0) })
        } end: {
            g_dbus_connection_remove_filter($0.pointer, $1)
        }
        return Subscription {
            gatherer.end()
            filter.cancel()
        }
    }
}

/// Holds back the signals of one gathering; fed on the thread on which GDBus reads.
private final class Gatherer: Sendable {
    private let gathering: DBusGathering
    private let handler: @Sendable (DBusSignal) -> Void
    private let state = Mutex(State())
    private let isOver = Atomic(false)

    private struct State {
        var batch: [GatheredMessage] = []
        /// Which batch it is: a timer only hands over the one that it was started for.
        var number = 0
        var timer: Subscription?
        var handedOver: ContinuousClock.Instant?
    }

    /// So many are handed over before their time, so that they never come as a flood.
    private static let most = 64

    init(_ gathering: DBusGathering, _ handler: @escaping @Sendable (DBusSignal) -> Void) {
        (self.gathering, self.handler) = (gathering, handler)
    }

    func end() {
        isOver.store(true, ordering: .releasing)
        let rest = state.withLock { state in
            defer { state = State() }
            return (state.batch, state.timer)
        }
        withExtendedLifetime(rest) {}
    }

    /// Takes a message over with its reference; false for one that is none of this gathering's.
    func take(_ message: OpaquePointer) -> Bool {
        guard gathering.includes(message) else {
            seal()
            return false
        }
        let gathered = GatheredMessage(consuming: message)
        let isFull = state.withLock { state in
            if state.batch.isEmpty { start(&state) }
            state.batch.append(gathered)
            return state.batch.count >= Self.most
        }
        if isFull { seal() }
        return true
    }

    /// Has a new batch handed over when its time comes.
    private func start(_ state: inout State) {
        state.number += 1
        let since = state.handedOver.map { .now - $0 } ?? gathering.interval
        let handOver: @Sendable () -> Void = { [self, number = state.number] in
            let batch = self.state.withLock { $0.number == number ? Self.remove(&$0) : [] }
            tell(batch)
        }
        if since >= gathering.interval {
            EventLoop.shared.run(handOver)
        } else {
            state.timer = EventLoop.shared.after(gathering.interval - since, handOver)
        }
    }

    /// Hands the batch over before whatever GDBus queues on the D-Bus thread after this.
    private func seal() {
        let batch = state.withLock { $0.batch.isEmpty ? [] : Self.remove(&$0) }
        if !batch.isEmpty { EventLoop.shared.run { [self] in tell(batch) } }
    }

    private static func remove(_ state: inout State) -> [GatheredMessage] {
        state.number += 1
        state.handedOver = .now
        defer { state.batch = [] }
        return state.batch
    }

    private func tell(_ batch: [GatheredMessage]) {
        for message in batch where !isOver.load(ordering: .acquiring) {
            if let signal = message.signal { handler(signal) }
        }
    }
}

extension DBusGathering {
    /// Whether a message tells only of properties that may wait.
    fileprivate func includes(_ message: OpaquePointer) -> Bool {
        guard g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_SIGNAL,
            matches(g_dbus_message_get_member(message), "PropertiesChanged"),
            matches(g_dbus_message_get_sender(message), sender),
            matches(g_dbus_message_get_interface(message), "org.freedesktop.DBus.Properties"),
            let body = g_dbus_message_get_body(message), matches(g_variant_get_type_string(body), "(sa{sv}as)")
        else { return false }
        return Self.with(child: 0, of: body) { matches(g_variant_get_string($0, nil), interface) }
            && Self.with(child: 2, of: body) { g_variant_n_children($0) == 0 }
            && Self.with(child: 1, of: body) { changed in
                (0..<g_variant_n_children(changed)).allSatisfy { index in
                    Self.with(child: index, of: changed) { entry in
                        Self.with(child: 0, of: entry) { properties.contains(text(g_variant_get_string($0, nil))) }
                    }
                }
            }
    }

    private func matches(_ text: UnsafePointer<CChar>?, _ wanted: String) -> Bool {
        text.map { g_strcmp0($0, wanted) == 0 } ?? false
    }

    private static func with(child index: gsize, of variant: OpaquePointer, _ body: (OpaquePointer) -> Bool) -> Bool {
        guard let child = g_variant_get_child_value(variant, index) else { return false }
        defer { g_variant_unref(child) }
        return body(child)
    }
}

/// The owner of a GDBusMessage.
///
/// `@unchecked Sendable`: GDBus has let go of the message, and it is only read.
private final class GatheredMessage: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(consuming pointer: OpaquePointer) { self.pointer = pointer }
    deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }

    /// nil where the body is not within the limits of `DBusValue`.
    var signal: DBusSignal? {
        guard let arguments = try? Decoding.arguments(g_dbus_message_get_body(pointer)) else { return nil }
        return DBusSignal(
            sender: text(g_dbus_message_get_sender(pointer)), path: text(g_dbus_message_get_path(pointer)),
            interface: text(g_dbus_message_get_interface(pointer)), member: text(g_dbus_message_get_member(pointer)),
            arguments: arguments)
    }
}
