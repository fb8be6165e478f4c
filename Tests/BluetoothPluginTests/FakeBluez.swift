import ApsuleDBus
import Foundation
import Synchronization
import TestBus

/// `org.bluez` on a bus of its own, for what neither a real daemon nor an emulated radio can be brought to do.
///
/// What it is asked succeeds as in BlueZ, unless the test answers a method by itself with `answer`.
final class FakeBluez: Sendable {
    typealias Properties = [String: DBusValue]

    struct Asked: Sendable {
        let method: String
        let path: String
        let sender: String
        let arguments: [DBusValue]
    }

    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let service = "org.bluez.GattService1"
    static let characteristic = "org.bluez.GattCharacteristic1"

    let bus: TestBus
    let connection: DBusConnection
    let asked = Received<Asked>()
    private let state = Mutex(State())

    private struct State {
        var objects: [String: [String: Properties]] = [:]
        var exports: [String: [Subscription]] = [:]
        var answers: [String: @Sendable (DBusInvocation) -> Void] = [:]
    }

    /// A daemon with these adapters, all powered.
    init(adapters: [String] = ["hci0"], on bus: TestBus? = nil) async throws {
        self.bus = try bus ?? TestBus()
        connection = try await DBusConnection.open(.address(self.bus.address))
        try await export("/", FakeBluezXML.objectManager)
        try await export("/org/bluez", FakeBluezXML.agentManager)
        for name in adapters { try await addAdapter(name) }
        let own: DBusValue = .uint32(4)  // not queued
        _ = try await connection.call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
            .string("org.bluez"), own)
    }

    /// The methods that it was asked, in order.
    var methods: [String] { asked.all.map(\.method) }

    func asked(_ method: String) -> [Asked] { asked.all.filter { $0.method == method } }

    /// Answers a method from now on; without an answer of `body` the caller waits.
    func answer(_ method: String, _ body: @escaping @Sendable (DBusInvocation) -> Void) {
        state.withLock { $0.answers[method] = body }
    }

    /// The daemon ends.
    func quit() { connection.close() }

    // MARK: - Objects

    func addAdapter(_ name: String, _ properties: Properties = [:]) async throws {
        let given: Properties = ["Alias": .string(name), "Powered": .bool(true), "Discovering": .bool(false)]
        try await add(
            "/org/bluez/\(name)", Self.adapter, given.merging(properties) { $1 }, FakeBluezXML.adapter)
    }

    /// - Returns: the device's path.
    @discardableResult
    func addDevice(
        _ number: Int, on adapter: String = "hci0", _ properties: Properties = [:]
    ) async throws -> String {
        let pair = String(format: "%02X:%02X", number >> 8, number & 0xff)
        let address = "F0:F1:F2:F3:\(pair)"
        let path = "/org/bluez/\(adapter)/dev_" + address.replacing(":", with: "_")
        let given: Properties = [
            "Address": .string(address), "AddressType": .string("public"), "Name": .string("Device \(number)"),
            "RSSI": .int16(-50), "Paired": .bool(false), "Connected": .bool(false), "ServicesResolved": .bool(false),
            "Adapter": .path("/org/bluez/\(adapter)"),
        ]
        try await add(path, Self.device, given.merging(properties) { $1 }, FakeBluezXML.device)
        return path
    }

    /// A service with one characteristic.
    ///
    /// - Returns: the characteristic's path.
    func addCharacteristic(
        _ device: String, _ uuid: String, flags: [String], handle: Int = 1, value: [UInt8] = []
    ) async throws -> String {
        let full = { (short: String) in DBusValue.string("0000\(short)-0000-1000-8000-00805f9b34fb") }
        let service = "\(device)/service" + String(format: "%04x", handle)
        try await add(
            service, Self.service, ["UUID": full("180d"), "Device": .path(device), "Primary": .bool(true)], nil)
        let path = "\(service)/char" + String(format: "%04x", handle + 1)
        let properties: Properties = [
            "UUID": full(uuid), "Service": .path(service), "Flags": .strings(flags), "Value": .bytes(value),
        ]
        try await add(path, Self.characteristic, properties, FakeBluezXML.characteristic)
        return path
    }

    private func add(_ path: String, _ interface: String, _ properties: Properties, _ xml: String?) async throws {
        if let xml { try await export(path, xml) }
        state.withLock { $0.objects[path, default: [:]][interface] = properties }
        let interfaces = Self.interfaces([interface: properties])
        try connection.emit("/", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded", [.path(path), interfaces])
    }

    func remove(_ path: String) {
        let interfaces = state.withLock { state in
            state.exports[path] = nil
            return state.objects.removeValue(forKey: path)?.keys.sorted() ?? []
        }
        try? connection.emit(
            "/", "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved", [.path(path), .strings(interfaces)])
    }

    /// Changes properties, and tells it.
    func set(_ path: String, _ interface: String, _ properties: Properties) {
        state.withLock { $0.objects[path]?[interface]?.merge(properties) { $1 } }
        tell(path, interface, properties)
    }

    /// Tells of properties as they are.
    func tell(_ path: String, _ interface: String, _ properties: Properties) {
        try? connection.emit(
            path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
            [.string(interface), Self.dictionary(properties), .strings([])])
    }

    /// A device that is not heard any more has no signal strength.
    func forgetSignal(_ path: String) {
        state.withLock { _ = $0.objects[path]?[Self.device]?.removeValue(forKey: "RSSI") }
        try? connection.emit(
            path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
            [.string(Self.device), Self.dictionary([:]), .strings(["RSSI"])])
    }

    func property(_ path: String, _ interface: String, _ name: String) -> DBusValue? {
        state.withLock { $0.objects[path]?[interface]?[name] }
    }

    private static func dictionary(_ properties: Properties) -> DBusValue {
        .dictionary(
            properties.sorted { $0.key < $1.key }.map { .init(.string($0.key), .variant($0.value)) }, element: "{sv}")
    }

    private static func interfaces(_ interfaces: [String: Properties]) -> DBusValue {
        .dictionary(interfaces.map { .init(.string($0.key), dictionary($0.value)) }, element: "{sa{sv}}")
    }

    // MARK: - Answering

    private func export(_ path: String, _ xml: String) async throws {
        let subscription = try await connection.export(path, DBusInterface(xml: xml)) { [weak self] in self?.serve($0) }
        state.withLock { $0.exports[path, default: []].append(subscription) }
    }

    private func serve(_ call: DBusInvocation) {
        let asked = Asked(method: call.method, path: call.path, sender: call.sender, arguments: call.arguments)
        if call.method != "GetManagedObjects" { self.asked.append(asked) }
        if let answer = state.withLock({ $0.answers[call.method] }) { return answer(call) }
        switch call.method {
        case "GetManagedObjects":
            let objects = state.withLock { $0.objects }.sorted { $0.key < $1.key }
            call.reply(
                .dictionary(
                    objects.map { .init(.path($0.key), Self.interfaces($0.value)) }, element: "{oa{sa{sv}}}"))
        case "ReadValue": call.reply(property(call.path, Self.characteristic, "Value") ?? .bytes([]))
        default:
            call.reply()
            happen(call)
        }
    }

    /// What follows a call that succeeded.
    private func happen(_ call: DBusInvocation) {
        switch call.method {
        case "StartDiscovery": set(call.path, Self.adapter, ["Discovering": .bool(true)])
        case "StopDiscovery": set(call.path, Self.adapter, ["Discovering": .bool(false)])
        case "Connect": set(call.path, Self.device, ["Connected": .bool(true), "ServicesResolved": .bool(true)])
        case "Disconnect": set(call.path, Self.device, ["Connected": .bool(false), "ServicesResolved": .bool(false)])
        case "Pair": set(call.path, Self.device, ["Paired": .bool(true)])
        case "RemoveDevice": remove(call.arguments.first?.stringValue ?? "")
        default: break
        }
    }
}

/// The interfaces of BlueZ, as far as clients use them.
enum FakeBluezXML {
    static let objectManager = interface(
        "org.freedesktop.DBus.ObjectManager",
        #"<method name="GetManagedObjects"><arg type="a{oa{sa{sv}}}" direction="out"/></method>"#)
    static let agentManager = interface(
        "org.bluez.AgentManager1",
        method("RegisterAgent", "o", "s") + method("UnregisterAgent", "o") + method("RequestDefaultAgent", "o"))
    static let adapter = interface(
        FakeBluez.adapter,
        method("SetDiscoveryFilter", "a{sv}") + method("StartDiscovery") + method("StopDiscovery")
            + method("RemoveDevice", "o"))
    static let device = interface(
        FakeBluez.device, method("Connect") + method("Disconnect") + method("Pair") + method("CancelPairing"))
    static let characteristic = interface(
        FakeBluez.characteristic,
        #"<method name="ReadValue"><arg type="a{sv}" direction="in"/><arg type="ay" direction="out"/></method>"#
            + method("WriteValue", "ay", "a{sv}") + method("StartNotify") + method("StopNotify"))

    private static func interface(_ name: String, _ methods: String) -> String {
        "<node><interface name=\"\(name)\">\(methods)</interface></node>"
    }

    private static func method(_ name: String, _ arguments: String...) -> String {
        let list = arguments.map { "<arg type=\"\($0)\" direction=\"in\"/>" }.joined()
        return "<method name=\"\(name)\">\(list)</method>"
    }
}
