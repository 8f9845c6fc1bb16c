// swift-tools-version: 6.2
// A tour of MartletKit in the terminal, against a server that deploy/up started: swift run --package-path Examples/Tour
import PackageDescription

let package = Package(
    name: "Tour",
    platforms: [.macOS(.v12)],
    dependencies: [.package(name: "martlet", path: "../..")],
    targets: [
        .executableTarget(name: "Tour", dependencies: [.product(name: "MartletKit", package: "martlet")])
    ]
)
