internal import ApsuleKit
internal import HostCore
internal import Synchronization

/// One call of the script, from its start to its end; the observer that brings its answer to the engine's thread.
final class CallSlot: CallObserver, Sendable {
    /// Its place in the prelude's table.
    let index: Int
    let operation: BoundOperation
    private let inbox: Inbox
    private let isAnnounced = Atomic<Bool>(false)

    /// What only the engine's thread touches.
    struct Stream {
        var call: (any RunningCall)?
        /// How many more events the script takes now; below zero: all, or all to be dropped.
        var flow = 0
        var isOpen = false
        var isOver = false
    }

    /// Only the engine's thread reads and writes it, before the slot is shared and after.
    nonisolated(unsafe) var stream = Stream()

    static let flowing = -1
    static let discarding = -2

    init(_ index: Int, _ operation: BoundOperation, _ inbox: Inbox) {
        (self.index, self.operation, self.inbox) = (index, operation, inbox)
    }

    func answered(_ call: any RunningCall, _ result: Result<Payload, HostError>) {
        inbox.post(.answered(self, result))
    }

    func eventsReady(_ call: any RunningCall) { announce() }

    /// Asks the engine's thread to take events; once until it does.
    func announce() {
        if !isAnnounced.exchange(true, ordering: .acquiringAndReleasing) { inbox.post(.ready(self)) }
    }

    func takeAnnouncement() { isAnnounced.store(false, ordering: .releasing) }
}

/// An operation as the bridge knows it: with the numbers of its events, and how their JSON begins.
final class BoundOperation: Sendable {
    let descriptor: OperationDescriptor
    let eventNames: [String]
    /// `{"type":"name",` for each event.
    let eventStarts: [[UInt8]]

    /// The events any stream may have, after its own.
    private static let reserved = ["lost", "dropped", "resubscribed"]

    init(_ descriptor: OperationDescriptor) {
        self.descriptor = descriptor
        eventNames = descriptor.events.map(\.name) + Self.reserved
        eventStarts = eventNames.map { name in
            Array("{\"type\":".utf8) + JSON.string(name).bytes + [UInt8(ascii: ",")]
        }
    }

    /// What the prelude makes the operation's proxy from.
    func description(number: Int) -> JSON {
        var json: JSON = [
            "index": .int(Int64(number)), "name": .string(descriptor.name), "kind": .string(descriptor.kind.rawValue),
            "inline": .bool(descriptor.isInline), "positional": .array(descriptor.positional.map(JSON.string)),
            "events": .array(descriptor.events.map { .string($0.name) }), "final": .bool(descriptor.final != nil),
            "latest": .bool(descriptor.delivery == .latest),
        ]
        let isClosed = descriptor.arguments.json["additionalProperties"]?.boolValue == false
        json.set("known", isClosed ? .array(descriptor.arguments.propertyNames.map(JSON.string)) : .null)
        if let handle = descriptor.handle {
            json.set("handleId", .string(handle.id))
            json.set("methods", .object(handle.methods.map { .init($0.name, .string($0.operation)) }))
        }
        return json
    }
}
