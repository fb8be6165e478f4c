import ApsuleKit

extension BluetoothFamily {
    /// The services of a connected device that this project may use.
    ///
    /// - Returns: `[{id, uuid, name?, primary}]`.
    /// - Throws: `bluetooth.not_connected`.
    func services(_ call: Call) throws -> JSON {
        let connection = try connected(call)
        let services = bluez.read { $0.services(ofDevice: connection.path) }
        return .array(services.filter { mayUse($0, call) }.map(\.json))
    }

    /// The characteristics of one service of a connected device.
    ///
    /// - Parameter call: `{deviceId, serviceId}`; the service by UUID, standard name or id.
    /// - Returns: `[{id, uuid, name?, properties, notifying, mtu?}]`; mtu in bytes.
    /// - Throws: `bluetooth.not_connected`, `service_not_found`, `blocklisted`, `permission.denied`.
    func characteristics(_ call: Call) throws -> JSON {
        let connection = try connected(call)
        let services = try services(call, of: connection)
        for service in services { try check(service, call) }
        let characteristics = bluez.read { tree in services.flatMap { tree.characteristics(ofService: $0.path) } }
        return .array(
            characteristics.map { characteristic in
                var json = characteristic.json
                if let service = services.first(where: { $0.path == characteristic.service }), services.count > 1 {
                    json.set("service", .string("#" + handle(of: service.path)))
                }
                return json
            })
    }

    // MARK: - Finding attributes

    func connected(_ call: Call) throws(HostError) -> Connections.Connection {
        let id: String = try call["deviceId"]
        guard let connection = connections[id] else {
            throw BluezErrors.make(
                "not_connected", "This project is not connected to the device.", fix: "Call bluetooth.connect first.")
        }
        return connection
    }

    /// The one characteristic that a request names, checked against the blocklist and the project's scope.
    func characteristic(
        _ call: Call, writing: Bool = false
    ) throws(HostError) -> (connection: Connections.Connection, characteristic: Characteristic) {
        let connection = try connected(call)
        let name = try AttributeName(
            call.arguments.child("characteristicId"), named: AssignedNumbers.characteristic(named:))
        let services = try services(call, of: connection)
        let matches = bluez.read { tree in
            services.flatMap { service in
                tree.characteristics(ofService: service.path)
                    .filter { name.matches($0.uuid, handle: handle(of: $0.path)) }.map { (service, $0) }
            }
        }
        guard let (service, characteristic) = matches.first else {
            throw BluezErrors.make("characteristic_not_found", "The device has no characteristic \(name.text).")
        }
        guard matches.count == 1 else {
            let ids = matches.map { JSON.string("#" + handle(of: $0.1.path)) }
            var error = BluezErrors.make(
                "characteristic_ambiguous", "The device has \(matches.count) characteristics \(name.text).",
                fix: "Name one by its id, or give serviceId.")
            error.details.set("ids", .array(ids))
            throw error
        }
        try check(service, call)
        try blocklist.check(characteristic: characteristic.uuid, writing: writing)
        return (connection, characteristic)
    }

    /// The services that a request's `serviceId` names, all where it names none.
    private func services(_ call: Call, of connection: Connections.Connection) throws(HostError) -> [Service] {
        let services = bluez.read { $0.services(ofDevice: connection.path) }
        guard call.arguments.has("serviceId") else { return services }
        let name = try AttributeName(call.arguments.child("serviceId"), named: AssignedNumbers.service(named:))
        let matches = services.filter { name.matches($0.uuid, handle: handle(of: $0.path)) }
        guard !matches.isEmpty else {
            throw BluezErrors.make("service_not_found", "The device has no service \(name.text).")
        }
        return matches
    }

    private func mayUse(_ service: Service, _ call: Call) -> Bool {
        blocklist.allows(service: service.uuid) && call.allows("services", service.uuid.full)
    }

    private func check(_ service: Service, _ call: Call) throws(HostError) {
        try blocklist.check(service: service.uuid)
        guard call.allows("services", service.uuid.full) else {
            throw HostError(
                "permission.denied", "The service \(service.uuid.text) is outside this project's permission.",
                details: ["permission": "bluetooth", "scope": "services", "value": .string(service.uuid.text)])
        }
    }
}
