// swift-tools-version: 6.2
import PackageDescription

// A package of its own: its sources are links to the host's, measured without a process around them. Use Scripts/bench.
let package = Package(
    name: "Benchmarks",
    targets: [
        .target(name: "CApsule"),
        .target(name: "CFiles"),
        .target(name: "ApsuleKit", dependencies: ["CApsule", "CFiles"]),
        .systemLibrary(name: "CSQLite", path: "Libraries/CSQLite", pkgConfig: "sqlite3"),
        .target(name: "ApsuleSQLite", dependencies: ["ApsuleKit", "CSQLite"]),
        .target(name: "CHostCore"),
        .target(name: "CProcess"),
        .target(name: "HostCore", dependencies: ["ApsuleKit", "ApsuleSQLite", "CHostCore", "CProcess"]),
        .executableTarget(name: "host-bench", dependencies: ["HostCore", "ApsuleKit"]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system && target.name.first != "C" {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
