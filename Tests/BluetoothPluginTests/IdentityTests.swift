import ApsuleKit
import Foundation
import TestHost
import Testing

@testable import BluetoothPlugin

@Suite struct IdentityTests {
    /// RFC 4231's key of test case 2 over a text of this family's form, computed elsewhere.
    @Test func theIdIsAnHMAC() {
        let identity = DeviceIdentity(key: Array("Jefe".utf8))
        let id = identity.id(address: "f0:f1:f2:f3:f4:f5", type: "random")
        #expect(id == "wuxM8O4_oDXztbCOo4ys")
        #expect(id == identity.id(address: "F0:F1:F2:F3:F4:F5", type: "random"))
        #expect(id != identity.id(address: "F0:F1:F2:F3:F4:F5", type: "public"))
        #expect(id != DeviceIdentity(key: Array("Jeff".utf8)).id(address: "F0:F1:F2:F3:F4:F5", type: "random"))
    }

    private func folder(_ project: TestProject) -> Int32 { open(project.data, O_RDONLY | O_DIRECTORY) }

    @Test func theKeyIsKeptForTheProjectAlone() throws {
        let (project, other) = (try TestProject(), try TestProject())
        let first = try DeviceIdentity(folder: folder(project)).id(address: "00:11:22:33:44:55", type: "public")
        let again = try DeviceIdentity(folder: folder(project)).id(address: "00:11:22:33:44:55", type: "public")
        let elsewhere = try DeviceIdentity(folder: folder(other)).id(address: "00:11:22:33:44:55", type: "public")
        #expect(first == again && first != elsewhere && first.utf8.count == 20)
        let attributes = try FileManager.default.attributesOfItem(atPath: project.data + "/identity.key")
        #expect(attributes[.posixPermissions] as? Int == 0o600 && attributes[.size] as? Int == 32)
        #expect(try FileManager.default.contentsOfDirectory(atPath: project.data) == ["identity.key"])
    }

    @Test func aDamagedKeyIsSaidToBe() throws {
        for bytes in [[], [UInt8](repeating: 1, count: 31), [UInt8](repeating: 1, count: 33)] {
            let project = try TestProject()
            try Data(bytes).write(to: URL(fileURLWithPath: project.data + "/identity.key"))
            let error = #expect(throws: HostError.self) { _ = try DeviceIdentity(folder: folder(project)) }
            #expect(error?.code == "bluetooth.unavailable")
        }
        let project = try TestProject()
        try FileManager.default.createSymbolicLink(
            atPath: project.data + "/identity.key", withDestinationPath: "/etc/machine-id")
        #expect(throws: HostError.self) { _ = try DeviceIdentity(folder: folder(project)) }
    }

    @Test func manyOpenAtOnce() async throws {
        let project = try TestProject()
        let folder = folder(project)
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 {
                group.addTask { try DeviceIdentity(folder: folder).id(address: "00:11:22:33:44:55", type: "public") }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
    }

    @Test func theIdStaysWhilePairingRevealsTheAddress() {
        let identity = DeviceIdentity(key: [1])
        var device = Device(path: "/org/bluez/hci0/dev_1")
        device.address = "48:11:22:33:44:55"
        let id = identity.id(device)
        device.address = "00:11:22:33:44:55"
        #expect(identity.id(device) == id)
    }

    @Test func pairedDevicesAreRemembered() throws {
        let project = try TestProject()
        let folder = folder(project)
        let record = PairedRecord(folder: folder)
        #expect(!record.contains("a"))
        try record.add("a")
        try record.add("b")
        try record.add("a")
        #expect(PairedRecord(folder: folder).contains("a") && PairedRecord(folder: folder).contains("b"))
        try record.remove("a")
        #expect(!PairedRecord(folder: folder).contains("a") && PairedRecord(folder: folder).contains("b"))
    }
}
