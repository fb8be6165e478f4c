// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "DBus",
    products: [.library(name: "ApsuleDBus", type: .dynamic, targets: ["ApsuleDBus"])],
    dependencies: [.package(path: "..")],
    targets: [
        .systemLibrary(
            name: "CGio", path: "Libraries/CGio", pkgConfig: "gio-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .target(name: "ApsuleDBus", dependencies: [.product(name: "ApsuleKit", package: "Kit"), "CGio"]),
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
