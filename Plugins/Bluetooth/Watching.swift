import ApsuleDBus
import ApsuleKit

extension BluetoothFamily {
    /// Tells how the radio is, now and whenever that changes, and when this project's connections come and go.
    ///
    /// Events: `state` with what `authorization` answers; `connected {id, name?}`; `disconnected {id, name?, reason}`
    /// with reason `requested`, `lost` (also when the adapter goes: `state` follows) or `daemonStopped`.
    func watch(_ call: Call, _ events: EventStream) async throws -> JSON {
        do throws(HostError) {
            _ = try await bluez.connection()
        } catch {
            // Where the bus is there, the daemon is reported missing, and reported again when it comes.
            guard error.code == "bluetooth.daemon_missing", bluez.hasConnection else { throw error }
        }
        let (changes, change) = AsyncStream<Connections.Event?>.makeStream(bufferingPolicy: .unbounded)
        let radioChanges = bluez.listen { event in
            switch event {
            case .daemon, .object(.adapter): change.yield(nil)
            default: break
            }
        }
        let connectionChanges = connections.listen { change.yield($0) }
        defer {
            radioChanges.cancel()
            connectionChanges.cancel()
        }
        events.open()
        var last = radio.status(radio.problem())
        events.post("state", last)
        for await event in changes {
            switch event {
            case .connected(let connection): events.post("connected", connection.json)
            case .disconnected(let connection, let reason):
                var json = connection.json
                json.set("reason", .string(reason.rawValue))
                events.post("disconnected", json)
            case nil:
                let status = radio.status(radio.problem())
                if status != last { events.post("state", status) }
                last = status
            }
        }
        return .null
    }
}

extension Connections.Connection {
    fileprivate var json: JSON {
        var json: JSON = ["id": .string(id)]
        if let name { json.set("name", .string(name)) }
        return json
    }
}
