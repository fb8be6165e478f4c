// swift-tools-version: 6.2
import PackageDescription

// A package of its own, since every module in it is built with the address sanitizer and the fuzzer's coverage. Its
// sources are links to the host's. Use Scripts/fuzz.
let package = Package(
    name: "Fuzz",
    targets: [
        .target(name: "CApsule"),
        .target(name: "CFiles"),
        .target(name: "ApsuleKit", dependencies: ["CApsule", "CFiles"]),
        .systemLibrary(name: "CSQLite", path: "Libraries/CSQLite", pkgConfig: "sqlite3"),
        .target(name: "ApsuleSQLite", dependencies: ["ApsuleKit", "CSQLite"]),
        .target(name: "CHostCore"),
        .target(name: "CProcess"),
        .target(name: "HostCore", dependencies: ["ApsuleKit", "ApsuleSQLite", "CHostCore", "CProcess"]),
        .target(name: "CFuzzer"),
        .executableTarget(name: "fuzz", dependencies: ["HostCore", "ApsuleKit", "CFuzzer"]),
    ],
    swiftLanguageModes: [.v6]
)

let sanitized = ["-sanitize=fuzzer,address"]
for target in package.targets where target.type != .system {
    if target.name.first == "C", target.name != "CFuzzer" {
        // Traps, since the Swift driver links no runtime of the undefined-behaviour sanitizer.
        target.cSettings = [
            .unsafeFlags(["-fsanitize=fuzzer-no-link,address,undefined", "-fsanitize-trap=undefined"])
        ]
    }
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .unsafeFlags(sanitized + ["-enable-testing"]),
    ]
    if target.type == .executable { target.linkerSettings = [.unsafeFlags(sanitized + ["-use-ld=lld"])] }
}
