// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the host and all plugins link one libApsuleKit.so: SwiftPM copies a target of the same
// package into each dynamic product, and links a dynamic product of another package.
let package = Package(
    name: "Kit",
    products: [
        .library(name: "ApsuleKit", type: .dynamic, targets: ["ApsuleKit", "CApsule"]),
        .library(name: "ApsuleDBus", type: .dynamic, targets: ["ApsuleDBus"]),
        .library(name: "ApsuleSQLite", type: .dynamic, targets: ["ApsuleSQLite"]),
    ],
    targets: [
        .target(name: "CApsule"),
        .target(name: "ApsuleKit", dependencies: ["CApsule"]),
        .systemLibrary(
            name: "CGio", path: "Libraries/CGio", pkgConfig: "gio-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .target(name: "ApsuleDBus", dependencies: ["ApsuleKit", "CGio"]),
        .systemLibrary(
            name: "CSQLite", path: "Libraries/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "ApsuleSQLite", dependencies: ["ApsuleKit", "CSQLite"]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type == .regular && !target.name.hasPrefix("C") {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
