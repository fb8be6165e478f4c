// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Transport",
    products: [.library(name: "ApsuleTransport", type: .dynamic, targets: ["ApsuleTransport"])],
    dependencies: [.package(path: "..")],
    targets: [
        .systemLibrary(
            name: "CCurl", path: "Libraries/CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CPublicSuffix", path: "Libraries/CPublicSuffix", pkgConfig: "libpsl",
            providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(
            name: "CIdn", path: "Libraries/CIdn", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
        .target(
            name: "ApsuleTransport",
            dependencies: [.product(name: "ApsuleKit", package: "Kit"), "CCurl", "CIdn", "CPublicSuffix"]),
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
