import ApsuleKit
import Foundation
import TestHost
import Testing

@testable import DevicePlugin

/// A root folder with the files of an invented machine.
final class Machine {
    let root = FileManager.default.temporaryDirectory.appending(path: "apsule-machine-\(UUID().uuidString)").path

    /// What `body` reads from the files, which stay as long.
    func read<R>(_ body: (SystemFiles) -> R) -> R { withExtendedLifetime(self) { body(SystemFiles(root: root)) } }

    init(_ contents: [String: String]) throws {
        for (path, text) in contents {
            let url = URL(fileURLWithPath: "\(root)/\(path)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
    }

    func link(_ path: String, to target: String) throws {
        let url = URL(fileURLWithPath: "\(root)/\(path)")
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: target)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }
}

@Suite struct InfoTests {
    @Test func tellsOfThisMachine() async throws {
        let host = try TestHost("device", DevicePlugin.entry)
        let info = try await host.call("info")
        var names = utsname()
        uname(&names)
        let release = withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        #expect(info["kernel"]?["release"]?.stringValue == release)
        #expect(info["hostname"]?.stringValue == ProcessInfo.processInfo.hostName)
        #expect(info["processors"]?["active"]?.intValue == Int64(ProcessInfo.processInfo.activeProcessorCount))
        #expect(info["memory"]?["totalBytes"]?.intValue == Int64(ProcessInfo.processInfo.physicalMemory))
        #expect(info["disk"]?["totalBytes"]?.intValue ?? 0 > 0)
        #expect(info["uptimeSeconds"]?.intValue ?? 0 > 0)
        #expect(info["timezone"]?["offsetSeconds"]?.intValue == Int64(TimeZone.current.secondsFromGMT()))
        #expect(host.violations.isEmpty)
    }

    @Test func theIdentifierIsTheProjects() async throws {
        func identifier(_ project: TestProject) async throws -> String? {
            try await TestHost("device", DevicePlugin.entry, project: project).call("info")["identifier"]?.stringValue
        }
        let project = try TestProject()
        let first = try await identifier(project)
        #expect(UUID(uuidString: try #require(first)) != nil)
        #expect(try await identifier(project) == first)
        #expect(try await identifier(TestProject()) != first)
        try Data("garbage".utf8).write(to: URL(fileURLWithPath: project.data + "/identifier"))
        let renewed = try await identifier(project)
        #expect(renewed != first && renewed?.count == 36)
        #expect(try await identifier(project) == renewed)
        #expect(try FileManager.default.contentsOfDirectory(atPath: project.data) == ["identifier"])
    }

    @Test func oneIdentifierForManyAtOnce() async throws {
        let project = try TestProject()
        let identifiers = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try await TestHost("device", DevicePlugin.entry, project: project).call("info")["identifier"]?
                        .stringValue
                }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(identifiers.count == 1 && !identifiers.contains(nil))
    }
}

@Suite struct HardwareTests {
    @Test func modelsAreWhatPeopleCallThem() throws {
        func model(_ contents: [String: String]) throws -> [String?] {
            let prefixed = contents.map { ("sys/class/dmi/id/\($0)", $1) }
            let machine = try Machine(Dictionary(uniqueKeysWithValues: prefixed))
            let hardware = machine.read(Hardware.init)
            return [hardware.manufacturer, hardware.model, hardware.kind]
        }
        #expect(
            try model([
                "sys_vendor": "LENOVO\n", "product_name": "20XW005PGE\n",
                "product_version": "ThinkPad X1 Carbon Gen 9\n",
                "chassis_type": "10\n",
            ]) == ["LENOVO", "ThinkPad X1 Carbon Gen 9", "laptop"])
        #expect(
            try model(["sys_vendor": "Dell Inc.\n", "product_name": "XPS 13 9310\n", "chassis_type": "10"])
                == ["Dell Inc.", "XPS 13 9310", "laptop"])
        #expect(
            try model([
                "sys_vendor": "To Be Filled By O.E.M.", "product_name": "System Product Name", "chassis_type": "3",
            ])
                == [nil, nil, "desktop"])
        #expect(try model(["sys_vendor": "QEMU", "product_name": "Standard PC", "chassis_type": "1"])[2] == "vm")
        #expect(try model(["sys_vendor": " \n"]) == [nil, nil, nil])
    }

    @Test func boardsWithoutFirmwareTablesHaveADeviceTree() throws {
        let machine = try Machine(["sys/firmware/devicetree/base/model": "Raspberry Pi 4 Model B Rev 1.4\0"])
        #expect(machine.read(Hardware.init).model == "Raspberry Pi 4 Model B Rev 1.4")
    }

    @Test func connectedScreensAreListed() throws {
        let machine = try Machine([
            "sys/class/drm/card0-eDP-1/status": "connected\n",
            "sys/class/drm/card0-eDP-1/modes": "1920x1200\n1920x1080\n",
            "sys/class/drm/card0-HDMI-A-1/status": "disconnected\n",
            "sys/class/drm/card1-DP-2/status": "connected\n",
            "sys/class/drm/version": "drm 1.1.0",
        ])
        #expect(
            machine.read(Hardware.init).screens == [
                ["name": "eDP-1", "width": 1920, "height": 1200], ["name": "DP-2", "width": nil, "height": nil],
            ])
        #expect(try Machine([:]).read(Hardware.init).screens == [])
    }
}

@Suite struct PowerTests {
    private func power(_ supplies: [String: [String: String]]) throws -> Power {
        var contents: [String: String] = [:]
        for (supply, values) in supplies {
            for (name, value) in values { contents["sys/class/power_supply/\(supply)/\(name)"] = value + "\n" }
        }
        return try Machine(contents).read(Power.init)
    }

    @Test func aDesktopHasNone() throws {
        let power = try power([:])
        #expect(power.battery == .null)
        #expect(power.externalPower == nil)
    }

    @Test func aMouseIsNoBattery() throws {
        let mouse = ["type": "Battery", "scope": "Device", "capacity": "50", "status": "Discharging"]
        let power = try power(["hidpp_battery_0": mouse, "AC": ["type": "Mains", "online": "1"]])
        #expect(power.battery == .null)
        #expect(power.externalPower == true)
    }

    @Test func aLaptopTells() throws {
        let battery = ["type": "Battery", "status": "Not charging", "capacity": "79", "present": "1"]
        let power = try power(["BAT0": battery, "AC": ["type": "Mains", "online": "0"]])
        #expect(power.battery == ["level": 0.79, "state": "notCharging", "count": 1])
        #expect(power.externalPower == false)
    }

    @Test func twoBatteriesCountByContent() throws {
        let power = try power([
            "BAT0": ["type": "Battery", "status": "Full", "energy_now": "20", "energy_full": "20", "capacity": "100"],
            "BAT1": [
                "type": "Battery", "status": "Discharging", "energy_now": "20", "energy_full": "60", "capacity": "33",
            ],
            "BAT2": ["type": "Battery", "present": "0"],
        ])
        #expect(power.battery == ["level": 0.5, "state": "discharging", "count": 2])
    }

    @Test func whatIsMissingIsNull() throws {
        #expect(
            try power(["BAT0": ["type": "Battery"]]).battery == ["level": nil, "state": "unknown", "count": 1])
    }
}

@Suite struct SystemTests {
    private func region(_ variables: [String: String], _ contents: [String: String] = [:]) throws -> Region {
        try Machine(contents).read { Region($0) { variables[$0] } }
    }

    @Test(arguments: [
        ("de_DE.UTF-8", "de-DE"), ("sr_RS@latin", "sr-Latn-RS"), ("eo", "eo"), ("pt_BR", "pt-BR"),
        ("de_DE@euro", "de-DE"),
    ])
    func localesAreTags(_ name: String, _ identifier: String) throws {
        #expect(try region(["LANG": name]).locale["identifier"]?.stringValue == identifier)
    }

    @Test(arguments: ["C", "POSIX", "C.UTF-8", "1234", "_", ".", "@"])
    func noLanguageIsNull(_ name: String) throws { #expect(try region(["LANG": name]).locale == .null) }

    @Test func theEnvironmentComesFirst() throws {
        let files = ["etc/default/locale": "LANG=\"fr_FR.UTF-8\"\n"]
        #expect(try region([:], files).locale["identifier"] == "fr-FR")
        #expect(try region(["LANG": "nl_NL", "LC_ALL": "de_AT"], files).locale["identifier"] == "de-AT")
        let preferred = try region(["LANG": "de_DE", "LANGUAGE": "de_CH:en"], files).locale["languages"]
        #expect(preferred == ["de-CH", "en", "de-DE"])
    }

    @Test func timezonesHaveNames() throws {
        #expect(try region(["TZ": ":/usr/share/zoneinfo/Asia/Tokyo"]).timezone["identifier"] == "Asia/Tokyo")
        #expect(try region(["TZ": "CET-1CEST"]).timezone["identifier"] == .null)
        let zone = ["usr/share/zoneinfo/Europe/Oslo": "TZif2"]
        #expect(try region(["TZ": "Europe/Oslo"], zone).timezone["identifier"] == "Europe/Oslo")
        #expect(try region([:]).timezone["identifier"] == "UTC")
        let machine = try Machine([:])
        try machine.link("etc/localtime", to: "/usr/share/zoneinfo/America/New_York")
        #expect(machine.read { Region($0) { _ in nil } }.timezone["identifier"] == "America/New_York")
    }

    @Test func distributionsAreNamed() throws {
        let text = """
            # a comment
            NAME="Fedora Linux"
            VERSION_ID=39
            ID=fedora
            PRETTY_NAME="Fedora \\"39\\" \\$x"
            BROKEN
            VERSION_CODENAME=""
            """
        let os = try Machine(["etc/os-release": text]).read(OperatingSystem.init)
        #expect(
            os.json == [
                "id": "fedora", "name": "Fedora Linux", "version": "39", "codename": nil,
                "prettyName": "Fedora \"39\" $x",
            ])
        #expect(
            try Machine(["usr/lib/os-release": "NAME='Arch Linux'"]).read(OperatingSystem.init).name == "Arch Linux")
        #expect(try Machine([:]).read(OperatingSystem.init).json["prettyName"] == "Linux")
    }

    @Test func aHugeFileIsReadInPart() throws {
        let machine = try Machine(["etc/x": String(repeating: "a", count: 1 << 20)])
        #expect(machine.read { $0.text("etc/x")?.utf8.count } == 64 * 1024)
    }
}
