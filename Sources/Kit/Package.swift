// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the host and all plugins link one libApsuleKit.so: SwiftPM copies a target of the same
// package into each dynamic product, and links a dynamic product of another package. Two copies would be two sets of
// types: what one throws the other would not catch. So DBus and SQLite are packages of their own as well.
let package = Package(
    name: "Kit",
    products: [.library(name: "ApsuleKit", type: .dynamic, targets: ["ApsuleKit", "CApsule"])],
    targets: [
        .target(name: "CApsule"),
        .target(name: "CFiles"),
        .target(name: "ApsuleKit", dependencies: ["CApsule", "CFiles"]),
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
