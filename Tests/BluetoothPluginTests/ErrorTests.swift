import ApsuleDBus
import ApsuleKit
import Foundation
import Testing

@testable import BluetoothPlugin

@Suite struct ErrorTests {
    /// What BlueZ 5.66 was seen to answer, or has in its source, and what becomes of it.
    static let cases: [(String, String, BluezErrors.Context, String)] = [
        ("org.bluez.Error.NotReady", "Resource Not Ready", .adapter, "adapter_off"),
        ("org.freedesktop.DBus.Error.UnknownObject", "Method \"x\" doesn't exist", .adapter, "adapter_missing"),
        ("org.freedesktop.DBus.Error.UnknownObject", "Method \"x\" doesn't exist", .device, "device_not_found"),
        ("org.freedesktop.DBus.Error.UnknownObject", "Method \"x\" doesn't exist", .attribute, "attribute_gone"),
        ("org.freedesktop.DBus.Error.Spawn.ChildExited", "exited with status 1", .adapter, "daemon_missing"),
        ("org.freedesktop.DBus.Error.ServiceUnknown", "was not provided", .adapter, "daemon_missing"),
        ("org.freedesktop.DBus.Error.NameHasNoOwner", "no owner", .adapter, "daemon_missing"),
        ("org.freedesktop.DBus.Error.AccessDenied", "Rejected send message", .adapter, "access_denied"),
        ("org.freedesktop.DBus.Error.NoReply", "Message recipient disconnected", .device, "no_answer"),
        ("org.bluez.Error.InProgress", "Operation already in progress", .adapter, "in_progress"),
        ("org.bluez.Error.Failed", "No discovery started", .adapter, "not_scanning"),
        ("org.bluez.Error.Failed", "le-connection-abort-by-local", .device, "connect_failed"),
        ("org.bluez.Error.Failed", "Not connected", .attribute, "disconnected"),
        ("org.bluez.Error.NotConnected", "Not Connected", .device, "disconnected"),
        ("org.bluez.Error.NotSupported", "Operation is not supported", .attribute, "not_supported"),
        ("org.bluez.Error.NotPermitted", "Notify acquired", .attribute, "notify_in_use"),
        ("org.bluez.Error.NotPermitted", "Write not permitted", .attribute, "not_permitted"),
        ("org.bluez.Error.NotAuthorized", "Not authorized", .attribute, "pairing_required"),
        ("org.bluez.Error.Failed", "Not paired", .attribute, "pairing_required"),
        ("org.bluez.Error.InvalidArguments", "Invalid Length", .attribute, "value_too_long"),
        ("org.bluez.Error.InvalidArguments", "Invalid offset", .attribute, "invalid_request"),
        ("org.bluez.Error.InvalidValueLength", "Invalid length", .attribute, "value_too_long"),
        ("org.bluez.Error.Failed", "No notify session started", .attribute, "not_subscribed"),
        ("org.bluez.Error.AuthenticationFailed", "Authentication Failed", .pairing, "pairing_failed"),
        ("org.bluez.Error.AuthenticationRejected", "Rejected", .pairing, "pairing_rejected"),
        ("org.bluez.Error.AuthenticationCanceled", "Canceled", .pairing, "pairing_cancelled"),
        ("org.bluez.Error.AuthenticationTimeout", "Timeout", .pairing, "pairing_timeout"),
        ("org.bluez.Error.AlreadyExists", "Already Exists", .pairing, "already_paired"),
        ("org.bluez.Error.DoesNotExist", "Does Not Exist", .device, "device_not_found"),
        ("org.bluez.Error.SomethingNew", "?", .device, "failed"),
    ]

    @Test(arguments: cases)
    func eachErrorHasItsCode(_ name: String, _ message: String, _ context: BluezErrors.Context, _ code: String) {
        #expect(BluezErrors.hostError(.remote(name, message), context).code == "bluetooth.\(code)")
    }

    @Test func whatIsNoAnswerHasItsCodeToo() {
        #expect(BluezErrors.hostError(DBusError(.timedOut, ""), .device).code == "bluetooth.no_answer")
        #expect(BluezErrors.hostError(DBusError(.closed, ""), .device).code == "bluetooth.daemon_missing")
        #expect(BluezErrors.hostError(DBusError(.unreachable, ""), .device).code == "bluetooth.daemon_missing")
        #expect(BluezErrors.hostError(.cancelled, .device) == .cancelled)
    }

    @Test func theDevicesOwnErrorIsRead() {
        let error = BluezErrors.hostError(
            .remote("org.bluez.Error.Failed", "Operation failed with ATT error: 0x80"), .attribute)
        #expect(error.code == "bluetooth.att_error" && error.details["attError"] == 0x80)
        #expect(BluezErrors.attError("Operation failed with ATT error: 0x0e") == 14)
        #expect(BluezErrors.attError("Operation failed") == nil && BluezErrors.attError("ATT error: 0xzz") == nil)
    }

    /// What a person must do is said by each, and no address is given away.
    @Test func radioErrorsHaveAReasonAndAFix() {
        let errors = [
            BluezErrors.adapterMissing, BluezErrors.adapterOff, BluezErrors.accessDenied,
            BluezErrors.adapterBlocked(.soft),
            BluezErrors.adapterBlocked(.hard), BluezErrors.daemonMissing("It does not run."),
        ]
        for error in errors {
            #expect(error.details["reason"]?.stringValue?.isEmpty == false)
            #expect(error.details["fix"]?.stringValue?.isEmpty == false)
        }
        #expect(Set(errors.map(\.message)).count == errors.count)
        let named = BluezErrors.hostError(
            .remote("org.bluez.Error.NotAvailable", "no /org/bluez/hci0/dev_00_11_22_33_44_55"), .device)
        #expect(named.details["bluez"] == "org.bluez.Error.NotAvailable")
    }
}

@Suite struct RfkillTests {
    private func folder(_ entries: [[String: String]]) throws -> String {
        let root = FileManager.default.temporaryDirectory.appending(path: "apsule-rfkill-\(UUID())").path
        for (number, entry) in entries.enumerated() {
            let folder = "\(root)/rfkill\(number)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (name, value) in entry {
                try (value + "\n").write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
            }
        }
        return root
    }

    @Test func blocksAreToldApart() throws {
        func block(_ adapter: String?, _ entries: [[String: String]]) throws -> Rfkill.Block? {
            let folder = try folder(entries)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            return Rfkill(folder: folder).block(adapter: adapter)
        }
        let wlan = ["type": "wlan", "name": "phy0", "soft": "1", "hard": "1"]
        func hci(_ number: Int, soft: Int, hard: Int) -> [String: String] {
            ["type": "bluetooth", "name": "hci\(number)", "soft": "\(soft)", "hard": "\(hard)"]
        }
        let platform = ["type": "bluetooth", "name": "tpacpi_bluetooth_sw", "soft": "1", "hard": "0"]
        #expect(try block("hci0", [wlan, hci(0, soft: 0, hard: 0)]) == nil)
        #expect(try block("hci0", [hci(0, soft: 1, hard: 0)]) == .soft)
        #expect(try block("hci0", [hci(0, soft: 1, hard: 1)]) == .hard)
        #expect(try block("hci0", [hci(0, soft: 0, hard: 0), hci(1, soft: 1, hard: 0)]) == nil)
        #expect(try block(nil, [platform]) == .soft)
        #expect(try block("hci0", [hci(0, soft: 0, hard: 0), platform]) == .soft)
        #expect(Rfkill(folder: "/no/such/folder").block(adapter: nil) == nil)
    }
}
