import ApsuleDBus

/// What BlueZ's object manager shows, kept current by its signals.
///
/// Source: <https://dbus.freedesktop.org/doc/dbus-specification.html#standard-interfaces-objectmanager>
struct ObjectTree: Sendable {
    /// What a message changed.
    enum Change: Sendable {
        case adapter(String)
        /// `isHeard`: by an advertisement that was received just now.
        case device(Device, isHeard: Bool)
        case deviceRemoved(Device)
        case value(characteristic: String, [UInt8])
    }

    private(set) var adapters: [String: Adapter] = [:]
    private(set) var devices: [String: Device] = [:]
    private(set) var services: [String: Service] = [:]
    private(set) var characteristics: [String: Characteristic] = [:]

    init() {}

    /// Reads the answer of GetManagedObjects, `a{oa{sa{sv}}}`.
    init(managedObjects: DBusValue?) {
        for object in managedObjects?.entries ?? [] {
            _ = add(object.key.stringValue ?? "", object.value.entries ?? [])
        }
    }

    /// Reads one signal; what is not of interest changes nothing.
    mutating func apply(_ signal: DBusSignal) -> [Change] {
        let arguments = signal.arguments
        switch signal.member {
        case "InterfacesAdded" where arguments.count == 2:
            return add(arguments[0].stringValue ?? "", arguments[1].entries ?? [])
        case "InterfacesRemoved" where arguments.count == 2:
            return remove(arguments[0].stringValue ?? "", arguments[1].stringsValue ?? [])
        case "PropertiesChanged" where arguments.count == 3:
            return change(
                signal.path, arguments[0].stringValue ?? "", arguments[1].entries ?? [],
                arguments[2].stringsValue ?? [])
        default: return []
        }
    }

    private mutating func add(_ path: String, _ interfaces: [DBusValue.Entry]) -> [Change] {
        var changes: [Change] = []
        for interface in interfaces {
            let properties = interface.value.entries ?? []
            switch interface.key.stringValue {
            case "org.bluez.Adapter1":
                var adapter = Adapter(path: path)
                adapter.apply(properties)
                adapters[path] = adapter
                changes.append(.adapter(path))
            case "org.bluez.Device1":
                var device = Device(path: path)
                device.apply(properties)
                devices[path] = device
                changes.append(.device(device, isHeard: device.rssi != nil))
            case "org.bluez.GattService1":
                var service = Service(path: path)
                service.apply(properties)
                services[path] = service
            case "org.bluez.GattCharacteristic1":
                var characteristic = Characteristic(path: path)
                characteristic.apply(properties)
                characteristics[path] = characteristic
            default: break
            }
        }
        return changes
    }

    private mutating func remove(_ path: String, _ interfaces: [String]) -> [Change] {
        var changes: [Change] = []
        for interface in interfaces {
            switch interface {
            case "org.bluez.Adapter1":
                if adapters.removeValue(forKey: path) != nil { changes.append(.adapter(path)) }
            case "org.bluez.Device1":
                if let device = devices.removeValue(forKey: path) { changes.append(.deviceRemoved(device)) }
            case "org.bluez.GattService1": services[path] = nil
            case "org.bluez.GattCharacteristic1": characteristics[path] = nil
            default: break
            }
        }
        return changes
    }

    private mutating func change(
        _ path: String, _ interface: String, _ properties: [DBusValue.Entry], _ invalidated: [String]
    ) -> [Change] {
        switch interface {
        case "org.bluez.Device1":
            guard let isHeard = devices[path]?.apply(properties, invalidated: invalidated), let device = devices[path]
            else { return [] }
            return [.device(device, isHeard: isHeard)]
        case "org.bluez.GattCharacteristic1":
            guard let value = characteristics[path]?.apply(properties) else { return [] }
            return [.value(characteristic: path, value)]
        case "org.bluez.Adapter1":
            guard adapters[path]?.apply(properties) != nil else { return [] }
            return [.adapter(path)]
        case "org.bluez.GattService1":
            services[path]?.apply(properties)
            return []
        default: return []
        }
    }

    // MARK: - Looking up

    /// The adapter to use: the one the owner named, else the first powered one, else the first.
    func adapter(preferred: String?) -> Adapter? {
        let ordered = adapters.values.sorted { $0.path < $1.path }
        if let preferred { return ordered.first { $0.name == preferred } }
        return ordered.first(where: \.isPowered) ?? ordered.first
    }

    func services(ofDevice path: String) -> [Service] {
        services.values.filter { $0.device == path }.sorted { $0.path < $1.path }
    }

    func characteristics(ofService path: String) -> [Characteristic] {
        characteristics.values.filter { $0.service == path }.sorted { $0.path < $1.path }
    }
}
