import ApsuleDBus
import ApsuleKit

extension BluetoothFamily {
    /// Connects to a peripheral and waits until its services are known, scanning for it where BlueZ has forgotten it.
    ///
    /// - Parameter call: `{deviceId, timeoutMs?}`. Cancelling it cancels the attempt, as its timeout does.
    /// - Returns: the device, as a scan reports it.
    /// - Throws: `bluetooth.device_not_found`, `connect_failed`, `services_unresolved`, `in_progress`, …
    func connect(_ call: Call) async throws -> JSON {
        let id: String = try call["deviceId"]
        let time = Duration.milliseconds(try call["timeoutMs"] ?? 30_000)
        _ = try await radio.adapter()
        if let connection = connections[id], let device = bluez.device(connection.path) { return device.json(id: id) }
        return try await connections.exclusively(id) { () async throws(HostError) in
            do throws(HostError) {
                return try await within(time, otherwise: BluezErrors.unreachable(within: time)) {
                    [self] () async throws(HostError) in try await attempt(id, until: .now + time)
                }
            } catch {
                // A radio that is gone is the better reason.
                if error != .cancelled, let problem = radio.problem() { throw problem }
                throw error
            }
        }
    }

    private func attempt(_ id: String, until deadline: ContinuousClock.Instant) async throws(HostError) -> JSON {
        try await connections.settle()
        // A moment before the call's own end, to give the better reason.
        let time = max(.milliseconds(100), deadline - .now - .milliseconds(200))
        let (device, isOurs) = try await near(id, within: time) { (device) async throws(HostError) in
            let pause = device.isConnected ? nil : await discovery.pause()
            defer { pause?.cancel() }
            return try await link(device, until: deadline)
        }
        connections.add(.init(id: id, path: device.path, name: device.name, isOurs: isOurs))
        return device.json(id: id)
    }

    /// Ends this project's connection; a link that another program uses stays.
    ///
    /// - Returns: `{connected: boolean}`: whether the link is still there.
    func disconnect(_ call: Call) async throws -> JSON {
        let id: String = try call["deviceId"]
        guard let connection = connections[id] else {
            let isConnected = device(id)?.isConnected ?? false
            return ["connected": .bool(isConnected)]
        }
        connections.remove(path: connection.path, .requested)
        guard connection.isOurs else { return ["connected": true] }
        do throws(HostError) {
            try await bluez.call(connection.path, "org.bluez.Device1", "Disconnect", context: .device)
        } catch {
            guard ["bluetooth.disconnected", "bluetooth.device_not_found"].contains(error.code) else { throw error }
        }
        // BlueZ answers a moment before it shows that the link is down.
        let stays = BluezErrors.make("in_progress", "The link is still there.")
        _ = try? await bluez.wait(connection.path, within: .seconds(5), otherwise: stays) {
            $0.isConnected ? nil : .success(())
        }
        return ["connected": .bool(bluez.device(connection.path)?.isConnected ?? false)]
    }

    // MARK: -

    /// BlueZ's entry for an id.
    func device(_ id: String) -> Device? {
        bluez.read { tree in tree.devices.values.first { identity.id($0) == id } }
    }

    /// Runs `body` with a device, and once more with a scan running where BlueZ does not know it (any more): it forgets
    /// what it has not heard for 30 s.
    func near<R>(
        _ id: String, within time: Duration = .seconds(20), _ body: (Device) async throws(HostError) -> R
    ) async throws(HostError) -> R {
        if let device = device(id) {
            do throws(HostError) {
                return try await body(device)
            } catch {
                guard error.code == "bluetooth.device_not_found" else { throw error }
            }
        }
        let found = OneShot<Device>()
        let listening = bluez.listen { [identity] change in
            guard case .object(.device(let device, _)) = change, identity.id(device) == id else { return }
            found.finish(.success(device))
        }
        defer { listening.cancel() }
        let membership = try await discovery.join(DiscoveryMachine.Filter()) { signal in
            if case .lost(let error) = signal { found.finish(.failure(error)) }
        }
        let outcome: Result<R, HostError>
        do throws(HostError) {
            // Longer than BlueZ's pause between two rounds of a scan.
            let longest = Duration.seconds(20)
            let device = try await found.value(within: min(longest, time), otherwise: BluezErrors.deviceNotFound)
            outcome = .success(try await body(device))
        } catch {
            outcome = .failure(error)
        }
        await discovery.leave(membership)
        return try outcome.get()
    }

    /// Makes the link, or uses the one that is there, and waits for the services.
    ///
    /// What fails at once is tried once more: a request may collide with the end of an advertisement, and a link that
    /// is there may be about to go. Without success nothing is left behind.
    private func link(
        _ device: Device, until deadline: ContinuousClock.Instant
    ) async throws(HostError) -> (Device, isOurs: Bool) {
        let start = ContinuousClock.now
        do throws(HostError) {
            return try await tryToLink(device, until: deadline)
        } catch {
            guard error.code == "bluetooth.connect_failed", ContinuousClock.now - start < .seconds(3),
                let device = bluez.device(device.path)
            else { throw error }
            return try await tryToLink(device, until: deadline)
        }
    }

    private func tryToLink(
        _ device: Device, until deadline: ContinuousClock.Instant
    ) async throws(HostError) -> (Device, isOurs: Bool) {
        do throws(HostError) {
            if !device.isConnected { try await request(device.path) }
            try await bluez.wait(device.path, within: .seconds(1), otherwise: BluezErrors.lostWhileConnecting) {
                $0.isConnected ? .success(()) : nil
            }
            let unresolved = BluezErrors.make("services_unresolved", "The device did not tell its services in time.")
            let time = max(.milliseconds(100), deadline - .now - .milliseconds(200))
            try await bluez.wait(device.path, within: time, otherwise: unresolved) { device in
                guard device.isConnected else { return .failure(BluezErrors.lostWhileConnecting) }
                return device.areServicesResolved ? .success(()) : nil
            }
            return (bluez.device(device.path) ?? device, !device.isConnected)
        } catch {
            if !device.isConnected {
                bluez.send(device.path, "org.bluez.Device1", "Disconnect")
                connections.unsettle()
            }
            throw error
        }
    }

    private func request(_ path: String) async throws(HostError) {
        do throws(HostError) {
            try await bluez.call(
                DBusCall(Bluez.name, path, "org.bluez.Device1", "Connect", timeout: .seconds(150)), whileThereIs: path)
        } catch {
            switch error.code {
            case "bluetooth.already_connected": return
            case "bluetooth.in_progress":
                // Another program connects it now: that is as good.
                try await bluez.wait(path, within: .seconds(30), otherwise: error) {
                    $0.isConnected ? .success(()) : nil
                }
            default: throw error
            }
        }
    }
}

extension BluezErrors {
    static let lostWhileConnecting = connectFailed("The device dropped the link while it was being connected.")
    static let forgotten = connectFailed("The device did not answer, and BlueZ gave the attempt up.")

    static func unreachable(within time: Duration) -> HostError {
        connectFailed("The device did not answer within \(time.milliseconds) ms.")
    }

    static func connectFailed(_ reason: String, _ error: DBusError? = nil) -> HostError {
        var failure = make(
            "connect_failed", reason, error,
            fix: "Come closer, wake the device, and see that no other machine is connected to it.")
        failure.details.set("reason", .string(reason))
        return failure
    }
}
