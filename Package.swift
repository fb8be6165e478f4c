// swift-tools-version: 6.2
import Foundation
import PackageDescription

let kit = Target.Dependency.product(name: "ApsuleKit", package: "Kit")
let dbus = Target.Dependency.product(name: "ApsuleDBus", package: "DBus")
let transport = Target.Dependency.product(name: "ApsuleTransport", package: "Transport")
let sqlite = Target.Dependency.product(name: "ApsuleSQLite", package: "SQLite")

// One line a family: its folder under Plugins/, and the C libraries its backing needs beyond the Kit's own.
// A family whose libraries pkg-config does not find is left out of the build with a note; Scripts/build makes SwiftPM
// look again after a -dev package was installed.
let families: [Family] = [
    Family("Bluetooth", needs: .bluez, .glib, kit: dbus),
    Family("Cookies", kit: transport),
    Family("Crypto", needs: .openssl),
    Family("Database", kit: sqlite),
    Family("Device"),
    Family("Files"),
    Family("Http", kit: transport),
    Family("Sse", kit: transport),
    Family("Storage", kit: sqlite),
    Family("Timer"),
    Family("Transfer", kit: transport),
]

extension Library {
    static let openssl = Library("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev")
    static let bluez = Library("CBluez", pkgConfig: "bluez", apt: "libbluetooth-dev")
    static let glib = Library("CGLib", pkgConfig: "glib-2.0", apt: "libglib2.0-dev")
    static let javascriptcore = Library(
        "CJavaScriptCore", pkgConfig: "javascriptcoregtk-4.1", apt: "libjavascriptcoregtk-4.1-dev")
    static let icu = Library("CICU", pkgConfig: "icu-uc", apt: "libicu-dev")
}

let present = families.filter(\.isBuildable)
let core: [Library] = [.javascriptcore, .icu]
let libraries = Set(present.flatMap(\.needs) + core).sorted { $0.target < $1.target }

/// Suites that need a guest with a real service, and say so where they do not run in it.
let rigTests: [Target] =
    present.contains { $0.folder == "Bluetooth" }
    ? [
        .testTarget(
            name: "BluetoothRigTests", dependencies: [.target(name: "BluetoothPlugin"), "TestHost", "TestBus", kit])
    ] : []

let strictC: [CSetting] = [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]

let package = Package(
    name: "Apsule",
    products: [.executable(name: "apsule", targets: ["apsule"])] + present.map(\.product),
    dependencies: [
        .package(path: "Sources/Kit"), .package(path: "Sources/Kit/DBus"), .package(path: "Sources/Kit/SQLite"),
        .package(path: "Sources/Kit/Transport"),
    ],
    targets: [
        .target(name: "CHostCore"),
        .target(name: "CProcess", cSettings: strictC),
        .target(name: "HostCore", dependencies: [kit, sqlite, "CHostCore", "CProcess"]),
        .executableTarget(name: "apsule", dependencies: ["HostCore", "ScriptText", kit]),
        // Apart, so that only what runs scripts loads JavaScriptCore.
        .executableTarget(
            name: "apsule-worker", dependencies: ["HostCore", "ScriptRuntime", "ScriptText", kit],
            path: "Sources/worker"),
        // It is C alone, and the Swift runtime that is linked all the same would triple its start.
        .executableTarget(
            name: "apsule-launch", path: "Sources/launcher", cSettings: strictC,
            linkerSettings: [.unsafeFlags(["-nostartfiles"])]),
        .target(name: "ScriptText", dependencies: [kit]),
        .target(
            name: "ScriptRuntime", dependencies: ["HostCore", "ScriptText", kit, "CJavaScriptCore", "CICU"],
            exclude: ["Prelude"], plugins: ["EmbedPrelude"]),
        .executableTarget(name: "prelude-embed"),
        .plugin(
            name: "EmbedPrelude", capability: .buildTool(), dependencies: ["prelude-embed"],
            path: "PackagePlugins/EmbedPrelude"),
        .executableTarget(name: "descriptor-embed"),
        .plugin(
            name: "EmbedDescriptor", capability: .buildTool(), dependencies: ["descriptor-embed"],
            path: "PackagePlugins/EmbedDescriptor"),
        .testTarget(name: "ScriptRuntimeTests", dependencies: ["ScriptRuntime", "ScriptText", "HostCore", kit]),
        .testTarget(name: "HostCoreTests", dependencies: ["HostCore", kit], exclude: ["Cases"]),
        .testTarget(
            name: "ProcessTests", dependencies: ["HostCore", "CProcess", "TestPrograms", kit], exclude: ["Programs"]),
        .testTarget(name: "ContractTests", dependencies: ["HostCore", "TestPrograms", kit]),
        .testTarget(name: "CommandLineTests", dependencies: ["HostCore", "TestPrograms", kit], exclude: ["Samples"]),
        .testTarget(name: "ApsuleKitTests", dependencies: [kit]),
        .testTarget(name: "ApsuleTransportTests", dependencies: [transport, kit]),
        .testTarget(name: "ApsuleSQLiteTests", dependencies: [sqlite, kit]),
        .target(name: "TestWeb", dependencies: [kit], path: "Tests/Support/TestWeb"),
        .target(name: "TestBus", path: "Tests/Support/TestBus"),
        .testTarget(name: "ApsuleDBusTests", dependencies: ["TestBus", dbus, kit]),
        .target(name: "TestPrograms", dependencies: ["HostCore", kit], path: "Tests/Support/TestPrograms"),
        .target(name: "TestHost", dependencies: ["HostCore", "CHostCore", kit], path: "Tests/Support/TestHost"),
        .executableTarget(name: "plugin-driver", dependencies: ["TestHost", kit], path: "Tests/Support/PluginDriver"),
    ] + libraries.map(\.systemLibrary) + present.flatMap(\.swiftTargets) + rigTests,
    swiftLanguageModes: [.v6]
)

for target in package.targets where [.regular, .executable, .test].contains(target.type) && !target.isC {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}

// MARK: - What a line of the table becomes

extension Target {
    /// A C target is named C<Name>, like a C module; the launcher is the one program in C.
    var isC: Bool {
        name.first == "C" && name.dropFirst().first?.isUppercase == true && name != "ContractTests"
            || name == "apsule-launch"
    }
}

struct Library: Hashable {
    let target: String, pkgConfig: String, apt: String

    init(_ target: String, pkgConfig: String, apt: String) {
        (self.target, self.pkgConfig, self.apt) = (target, pkgConfig, apt)
    }

    var isInstalled: Bool {
        let query = Process()
        query.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        query.arguments = ["pkg-config", "--exists", pkgConfig]
        guard (try? query.run()) != nil else { return false }
        query.waitUntilExit()
        return query.terminationStatus == 0
    }

    var systemLibrary: Target {
        .systemLibrary(name: target, path: "Libraries/\(target)", pkgConfig: pkgConfig, providers: [.apt([apt])])
    }
}

struct Family {
    let folder: String, needs: [Library], kit: [Target.Dependency]

    init(_ folder: String, needs: Library..., kit: Target.Dependency...) {
        (self.folder, self.needs, self.kit) = (folder, needs, kit)
    }

    var isBuildable: Bool {
        let missing = needs.filter { !$0.isInstalled }
        let packages = missing.map(\.apt).joined(separator: " ")
        if !missing.isEmpty { print("\(folder) is left out: apt-get install \(packages)") }
        return missing.isEmpty
    }

    /// The module is not called like the folder: `Timer` or `Notification` would hide Foundation's types.
    var target: String { "\(folder)Plugin" }

    var product: Product {
        let family = folder.prefix(1).lowercased() + folder.dropFirst()
        return .library(name: "apsule-\(family)", type: .dynamic, targets: [target])
    }

    /// The plugin, and the unit suite that stands beside every plugin.
    var swiftTargets: [Target] {
        [
            .target(
                name: target, dependencies: [ApsulePackage.kit] + kit + needs.map { .target(name: $0.target) },
                path: "Plugins/\(folder)", plugins: ["EmbedDescriptor"]),
            .testTarget(
                name: "\(target)Tests",
                dependencies: [.target(name: target), "TestHost", "TestBus", "TestWeb", ApsulePackage.kit] + kit),
        ]
    }
}

enum ApsulePackage { static let kit = Target.Dependency.product(name: "ApsuleKit", package: "Kit") }
