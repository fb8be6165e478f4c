import ApsuleDBus
import ApsuleKit

extension BluetoothFamily {
    /// Pairs with a peripheral; a person answers what it asks through the handle's `confirm`.
    ///
    /// Events: `confirm {passkey}`: is this number shown on the device as well; `enter`: the number that the device shows
    /// is wanted; `display {passkey}`: to be typed on the device. A question that nobody answers refuses the pairing.
    ///
    /// - Parameter call: `{deviceId, capability?, answerWithinMs?}`.
    /// - Returns: `{paired: true}`.
    /// - Throws: `bluetooth.pairing_failed`, `pairing_rejected`, `pairing_unanswered`, `pairing_timeout`, …
    func pair(_ call: Call, _ events: EventStream) async throws -> JSON {
        let id: String = try call["deviceId"]
        let capability: Pairings.Capability = try call["capability"] ?? .keyboardDisplay
        let patience: Int = try call["answerWithinMs"] ?? 30_000
        _ = try await radio.adapter()
        if device(id)?.isPaired == true { return ["paired": true] }
        _ = try await near(id) { (device) async throws(HostError) in
            // Pairing makes a link; one that this project did not ask for is not left behind, whatever came of it.
            let pause = device.isConnected ? nil : await self.discovery.pause()
            defer { pause?.cancel() }
            defer { if !device.isConnected { self.cut(device.path, unlessConnected: id) } }
            try await self.pairings.pair(device, id, capability, .milliseconds(patience), events)
        }
        return ["paired": true]
    }

    private func cut(_ path: String, unlessConnected id: String) {
        if connections[id] == nil { bluez.send(path, "org.bluez.Device1", "Disconnect") }
    }

    /// Answers the question of a pairing.
    ///
    /// - Parameter call: `{pairingId, accept, passkey?}`; the passkey where `enter` asked for one.
    /// - Returns: `{answered: boolean}`: false when nothing was asked, or it was answered before.
    func confirmPairing(_ call: Call) throws -> JSON {
        let passkey: String? = try call["passkey"]
        return ["answered": .bool(pairings.answer(try call["pairingId"], accept: try call["accept"], passkey: passkey))]
    }

    /// Removes a pairing that this project made, with what BlueZ knows of the device.
    ///
    /// - Throws: `bluetooth.not_paired_here` for a pairing of somebody else.
    func unpair(_ call: Call) async throws -> JSON {
        let id: String = try call["deviceId"]
        _ = try await radio.adapter()
        guard pairings.record.contains(id) else {
            throw BluezErrors.make(
                "not_paired_here", "This project has not paired the device.", fix: "Remove it with: bluetoothctl remove"
            )
        }
        if let device = device(id) {
            connections.remove(path: device.path, .requested)
            try await bluez.call(
                device.adapterPath, "org.bluez.Adapter1", "RemoveDevice", .path(device.path), context: .device)
        }
        try pairings.record.remove(id)
        return ["paired": false]
    }
}
