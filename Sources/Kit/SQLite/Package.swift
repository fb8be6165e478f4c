// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "SQLite",
    products: [.library(name: "ApsuleSQLite", type: .dynamic, targets: ["ApsuleSQLite"])],
    dependencies: [.package(path: "..")],
    targets: [
        .systemLibrary(
            name: "CSQLite", path: "Libraries/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "ApsuleSQLite", dependencies: [.product(name: "ApsuleKit", package: "Kit"), "CSQLite"]),
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
