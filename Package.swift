// swift-tools-version: 6.2
// Targets are listed bottom-up, in the order of their dependencies.
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// Products used by several targets.
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTesting: Target.Dependency = .product(name: "HummingbirdTesting", package: "hummingbird")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")

/// A service, or a part of one, with its migrations compiled in, so that a single program has to be deployed.
func service(_ name: String, dependencies: [Target.Dependency] = [], migrations: Bool = false, resources: [String] = [])
    -> Target
{
    .target(
        name: name,
        dependencies: [
            "MartletAPI", "MartletBackground", "MartletCore", "MartletHTTP", "MartletPostgres", hummingbird, logging,
            serviceLifecycle,
        ]
            + dependencies,
        path: "Sources/Services/\(name)",
        resources: ((migrations ? ["Migrations"] : []) + resources).map { .embedInCode($0) }, swiftSettings: settings)
}

/// A program that reads its configuration, builds its service and runs it.
func program(_ name: String, _ library: String, dependencies: [Target.Dependency] = ["MartletHTTP"]) -> Target {
    .executableTarget(
        name: name, dependencies: [.byName(name: library)] + dependencies, path: "Sources/Executables/\(name)",
        swiftSettings: settings)
}

let package = Package(
    name: "martlet",
    // For MartletKit, which apps link. The services need macOS 15 and say so here when they are built on a Mac:
    // MARTLET_SERVICES=1 swift build.
    platforms: Context.environment["MARTLET_SERVICES"] == nil
        ? [.macOS(.v12), .iOS(.v15), .watchOS(.v8)] : [.macOS(.v15)],
    products: [
        .library(name: "MartletKit", targets: ["MartletKit"]),
        .library(name: "MartletScreens", targets: ["MartletScreens"]),
        .library(name: "MartletLocalFlags", targets: ["MartletLocalFlags"]),
        .library(name: "MartletAPI", targets: ["MartletAPI"]),
        .library(name: "MartletLogic", targets: ["MartletLogic"]),
    ],
    dependencies: [
        // The operator's command line.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Combines flags, environment and file, in that order, into one configuration.
        .package(
            url: "https://github.com/apple/swift-configuration", from: "1.4.0",
            traits: ["JSON", "CommandLineArguments"]),
        // SHA-256, HMAC and signatures (BoringSSL).
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        // Sockets, event loops and HTTP/1.1 for the gateway.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        // YAML, for the test that reads deploy/compose.yaml.
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        // HTTP server for the services.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        // HTTP client for calls between processes.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        // File paths, as required by swift-configuration, and file status.
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        // Id tokens of identity providers: RSA, ECDSA and EdDSA signatures and JSON Web Keys.
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        // Starting, signal handling and graceful shutdown of long-lived services.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Contract
        .target(name: "MartletAPI", path: "Sources/Contract/MartletAPI", swiftSettings: settings),
        // Logic that server and client must compute identically: JsonLogic, canonical JSON and manifests.
        .target(name: "MartletLogic", path: "Sources/Contract/MartletLogic", swiftSettings: settings),
        // The same for plurals. A module of its own, because MartletKit needs nothing else of it.
        .target(name: "MartletPlurals", path: "Sources/Contract/MartletPlurals", swiftSettings: settings),
        // The same for flags: values, versions, hashes and shares.
        .target(name: "MartletFlagValues", path: "Sources/Contract/MartletFlagValues", swiftSettings: settings),

        // Writes a report when a process dies by a signal; in C, because Swift is not async-signal-safe.
        .target(name: "MartletKitSignals", path: "Sources/MartletKitSignals"),
        // The client for apps: Foundation, plurals and the reports of signals. A linker on Linux drops nothing of a
        // module, so what only some apps need is a product of its own.
        .target(
            name: "MartletKit", dependencies: ["MartletKitSignals", "MartletPlurals"],
            path: "Sources/MartletKit",
            swiftSettings: settings),
        // Screens of apps that the server describes.
        .target(
            name: "MartletScreens", dependencies: ["MartletKit", "MartletLogic"], path: "Sources/MartletScreens",
            swiftSettings: settings),
        // Evaluates on the device the flags whose rules the server gives to apps.
        .target(
            name: "MartletLocalFlags", dependencies: ["MartletFlagValues", "MartletKit"],
            path: "Sources/MartletLocalFlags", swiftSettings: settings),

        // Apps that use MartletKit alone: read them, run them (`swift run examples`), and tests run them, too.
        .target(
            name: "ExampleApps", dependencies: ["MartletKit", "MartletScreens"], path: "Sources/Examples/ExampleApps",
            resources: [
                "SportLook/SportLookRules.json", "SportLook/SportLookSchemas.json", "SportLook/ball.png",
                "FindMyBike/FindMyBikeRules.json", "FindMyBike/FindMyBikeSchemas.json",
                "Timetable/TimetableRules.json", "Timetable/TimetableSchemas.json", "Timetable/TimetableTexts.json",
                "Napton/NaptonRules.json", "Napton/NaptonSchemas.json", "Napton/address-book.json",
                "Napton/kick-in.json", "Napton/kick-in-change.json", "Napton/kick-in-sign-up.json",
            ].map { .embedInCode($0) }, swiftSettings: settings),

        // Shared
        .systemLibrary(
            name: "CLibPQ", path: "Sources/Shared/CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(
            name: "CArgon2", path: "Sources/Shared/CArgon2", pkgConfig: "libargon2",
            providers: [.apt(["libargon2-dev"])]),
        .systemLibrary(
            name: "CCrypt", path: "Sources/Shared/CCrypt", pkgConfig: "libxcrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(
            name: "CCurl", path: "Sources/Shared/CCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CZlib", path: "Sources/Shared/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CBrotli", path: "Sources/Shared/CBrotli", pkgConfig: "libbrotlidec",
            providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(
            name: "CZstandard", path: "Sources/Shared/CZstandard", pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"])]),
        .target(
            name: "MartletCore", dependencies: ["MartletAPI", "MartletLogic", crypto],
            path: "Sources/Shared/MartletCore",
            swiftSettings: settings),
        .target(
            name: "MartletPostgres", dependencies: ["CLibPQ", "MartletCore", logging, metrics, serviceLifecycle],
            path: "Sources/Shared/MartletPostgres", swiftSettings: settings),
        // gzip and Brotli in both directions; deflate and Zstandard only for decompression.
        .target(
            name: "MartletCompression", dependencies: ["CBrotli", "CZlib", "CZstandard", nioCore],
            path: "Sources/Shared/MartletCompression", swiftSettings: settings),
        // Work that repeats in the background: periodically, or at a signal.
        .target(
            name: "MartletBackground", dependencies: [logging, serviceLifecycle],
            path: "Sources/Shared/MartletBackground", swiftSettings: settings),
        .target(
            name: "MartletHTTP",
            dependencies: [
                "MartletAPI", "MartletBackground", "MartletCompression", "MartletCore", asyncHTTPClient, httpTypes,
                hummingbird,
                hummingbirdCore, logging, nioCore,
                nioHTTP1,
                serviceLifecycle, unixSignals,
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                // For the limit on connections, which Hummingbird does not export.
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                systemPackage,
            ],
            path: "Sources/Shared/MartletHTTP", swiftSettings: settings),
        .target(
            name: "MartletFiles",
            dependencies: [
                "MartletCore", "MartletHTTP", asyncHTTPClient, crypto, nioCore, nioHTTP1,
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/Shared/MartletFiles", swiftSettings: settings),

        // Catalogues of translations: file formats, plural rules, lint.
        .target(
            name: "MartletLocalization", dependencies: ["MartletCore", "MartletPlurals"],
            path: "Sources/Shared/MartletLocalization",
            swiftSettings: settings),

        // Work after the answer that is slow or may fail: a jobs table and its workers.
        .target(
            name: "MartletJobs",
            dependencies: ["MartletBackground", "MartletCore", "MartletPostgres", logging, nioCore, serviceLifecycle],
            path: "Sources/Shared/MartletJobs", resources: [.embedInCode("Migrations")], swiftSettings: settings),

        // Evaluation of A/B tests: significance tests, intervals, sample sizes. Pure functions of numbers.
        .target(name: "MartletStatistics", path: "Sources/Shared/MartletStatistics", swiftSettings: settings),

        // Regular expressions that are matched in linear time.
        .target(name: "MartletPatterns", path: "Sources/Shared/MartletPatterns", swiftSettings: settings),

        // Conditions, buckets, features and experiments: pure functions of the caller's known properties.
        .target(
            name: "MartletFlags", dependencies: ["MartletCore", "MartletFlagValues", "MartletPatterns", crypto],
            path: "Sources/Shared/MartletFlags", swiftSettings: settings),

        // JSON Schema for the documents of collections, and Swift types from it. Pure functions of values.
        .target(
            name: "MartletSchema", dependencies: ["MartletCore", "MartletPatterns"],
            path: "Sources/Shared/MartletSchema", swiftSettings: settings),

        // Crash reports as sent by Sentry's clients: envelopes, events, sessions, and the grouping of reports by fault.
        // Pure functions of values.
        .target(
            name: "MartletSentry", dependencies: ["MartletCore"], path: "Sources/Shared/MartletSentry",
            swiftSettings: settings),

        // Mail messages, and sending them to an SMTP server.
        .target(
            name: "MartletMail",
            dependencies: [
                "CCurl", "MartletAPI", "MartletCore", "MartletHTTP", crypto, serviceLifecycle,
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Sources/Shared/MartletMail", swiftSettings: settings),

        // Messages to devices: APNs over HTTP/2, Firebase, Web Push. Does not know tables or users.
        .target(
            name: "MartletPush",
            dependencies: [
                "MartletCore", "MartletHTTP", asyncHTTPClient, crypto, cryptoExtras, logging, nioCore, nioHTTP1,
                serviceLifecycle,
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            path: "Sources/Shared/MartletPush", swiftSettings: settings),

        // Services
        service(
            "AuthService",
            dependencies: [
                "CArgon2", "CCrypt", "MartletFiles", "MartletJobs", "MartletMail", asyncHTTPClient, crypto,
                cryptoExtras, httpTypes, nioCore, nioHTTP1,
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            migrations: true),
        service(
            "StorageService",
            dependencies: [
                "MartletFiles", "MartletJobs", "MartletSchema", .product(name: "CoreMetrics", package: "swift-metrics"),
                crypto, httpTypes, nioCore,
                // Hooks
                asyncHTTPClient, nioHTTP1,
            ],
            migrations: true),
        service(
            "ConfigService",
            dependencies: [
                "MartletCompression", "MartletFlags", "MartletLocalization", "MartletLogic", "MartletStatistics",
                .product(name: "CoreMetrics", package: "swift-metrics"), crypto, httpTypes, nioCore,
            ],
            migrations: true, resources: ["Configuration/Catalogue"]),
        // The parts of the analytics service: what several of them need, events and the queries on them, tickets with
        // feedback, and crash reports with their issues and debug symbols.
        service("AnalyticsShared", dependencies: ["MartletFiles", httpTypes, nioCore]),
        service(
            "AnalyticsEvents",
            dependencies: [
                "AnalyticsShared", "MartletCompression", "MartletSentry",
                .product(name: "CoreMetrics", package: "swift-metrics"), crypto, httpTypes, nioCore,
            ]),
        service("AnalyticsTickets", dependencies: ["AnalyticsShared", "MartletFiles", httpTypes, nioCore]),
        service(
            "AnalyticsCrashes",
            dependencies: [
                "AnalyticsShared", "AnalyticsTickets", "MartletCompression", "MartletFiles", "MartletJobs",
                "MartletSentry",
                .product(name: "CoreMetrics", package: "swift-metrics"), crypto, httpTypes, nioCore, systemPackage,
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        service(
            "AnalyticsService",
            dependencies: [
                "AnalyticsCrashes", "AnalyticsEvents", "AnalyticsShared", "AnalyticsTickets", "MartletFiles",
                "MartletJobs",
            ],
            migrations: true),
        service(
            "NotificationsService",
            dependencies: [
                "MartletFlags", "MartletJobs", "MartletLocalization", "MartletLogic", "MartletMail", "MartletPush",
                .product(name: "CoreMetrics", package: "swift-metrics"), asyncHTTPClient, crypto,
                httpTypes, nioCore,
            ],
            migrations: true),
        .target(
            name: "GatewayService",
            dependencies: [
                "MartletAPI", "MartletCore", asyncHTTPClient, crypto, logging, metrics, nioCore, nioHTTP1,
                serviceLifecycle,
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            path: "Sources/Services/GatewayService", swiftSettings: settings),
        .target(
            name: "OperatorCommands",
            dependencies: [
                "AnalyticsService", "AuthService", "ConfigService", "NotificationsService", "StorageService",
                "MartletAPI",
                "MartletCore", "MartletHTTP", "MartletPostgres", "MartletSchema", argumentParser, asyncHTTPClient,
                crypto, httpTypes,
                logging, nioCore, nioHTTP1,
                .product(name: "NIOPosix", package: "swift-nio"),
                serviceLifecycle, unixSignals,
            ],
            path: "Sources/Services/OperatorCommands", swiftSettings: settings),

        // For tests: a temporary PostgreSQL, clients and servers for calling a service, and waiting for a condition.
        .target(
            name: "MartletTesting",
            dependencies: [
                "MartletAPI", "MartletCore", "MartletHTTP", "MartletMail", "MartletPostgres", httpTypes, hummingbird,
                hummingbirdTesting, logging, nioCore, serviceLifecycle,
            ],
            path: "Sources/Testing/MartletTesting", exclude: ["mail_server.py"], swiftSettings: settings),

        // For tests: databases that contain the schemas of all services.
        .target(
            name: "ServiceTesting",
            dependencies: ["MartletCore", "MartletPostgres", "MartletTesting", "OperatorCommands", logging],
            path: "Sources/Testing/ServiceTesting", swiftSettings: settings),

        // For tests: simulations of the push services of Apple, Google and browsers.
        .target(
            name: "MartletPushSimulator",
            dependencies: [
                "MartletCore", crypto, cryptoExtras, httpTypes, hummingbird, logging, nioCore,
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/Testing/MartletPushSimulator", swiftSettings: settings),

        // Executables
        program(
            "gateway", "GatewayService",
            dependencies: ["MartletCore", "MartletHTTP", logging, serviceLifecycle, unixSignals]),
        program("auth", "AuthService"),
        program("storage", "StorageService"),
        program("config", "ConfigService"),
        program("analytics", "AnalyticsService"),
        program("notifications", "NotificationsService"),
        // Measures the evaluation of flags, for deploy/bench.
        .executableTarget(
            name: "flagbench", dependencies: ["MartletCore", "MartletFlags"], path: "Sources/Benchmarks/flagbench",
            swiftSettings: settings),
        // Measures the sending of push messages, with a push service that counts them, for deploy/bench.
        .executableTarget(
            name: "pushbench", dependencies: ["MartletCore", "MartletPush", "MartletPushSimulator", crypto, logging],
            path: "Sources/Benchmarks/pushbench",
            swiftSettings: settings),
        program(
            "martlet", "OperatorCommands",
            dependencies: [
                "AnalyticsService", "AuthService", "ConfigService", "MartletCore", "MartletHTTP",
                "NotificationsService", "StorageService", argumentParser,
            ]),
        .executableTarget(
            name: "examples", dependencies: ["ExampleApps"], path: "Sources/Examples/examples", swiftSettings: settings),

        // Tests
        .testTarget(
            name: "MartletPostgresTests",
            dependencies: ["MartletCore", "MartletPostgres", "MartletTesting", logging, serviceLifecycle],
            swiftSettings: settings),
        .testTarget(
            name: "GatewayServiceTests",
            dependencies: [
                "GatewayService", "MartletAPI", "MartletCore", "MartletTesting", crypto, logging, nioCore, nioHTTP1,
                serviceLifecycle,
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MartletJobsTests",
            dependencies: [
                "MartletBackground", "MartletJobs", "MartletPostgres", "MartletTesting", "ServiceTesting", logging,
                serviceLifecycle,
            ], swiftSettings: settings),
        .testTarget(
            name: "MartletMailTests", dependencies: ["MartletCore", "MartletMail", crypto, serviceLifecycle],
            swiftSettings: settings),
        .testTarget(name: "MartletPatternsTests", dependencies: ["MartletPatterns"], swiftSettings: settings),
        .testTarget(
            name: "MartletSchemaTests", dependencies: ["MartletCore", "MartletSchema", "MartletTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletFlagsTests",
            dependencies: ["MartletCore", "MartletFlagValues", "MartletFlags", "MartletKit", "MartletLocalFlags"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletKitTests",
            dependencies: [
                "MartletAPI", "MartletKit", "MartletKitSignals", "MartletLocalFlags", "MartletLogic", "MartletScreens",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AcceptanceTests", dependencies: ["ExampleApps", "MartletKit"], swiftSettings: settings),
        .testTarget(name: "MartletLogicTests", dependencies: ["MartletLogic"], swiftSettings: settings),
        .testTarget(
            name: "MartletCoreTests",
            dependencies: ["MartletAPI", "MartletCore", "MartletLogic", "MartletTesting", crypto],
            swiftSettings: settings),
        .testTarget(
            name: "MartletLocalizationTests",
            dependencies: ["MartletCore", "MartletLocalization", "MartletPlurals", "MartletTesting"],
            exclude: ["Support/plural_table.py", "Support/read_exports.py"], swiftSettings: settings),
        .testTarget(
            name: "MartletHTTPTests",
            dependencies: [
                "MartletAPI", "MartletCompression", "MartletCore", "MartletHTTP", "MartletTesting", httpTypes,
                hummingbird, hummingbirdTesting,
                logging, nioCore, serviceLifecycle, .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MartletFilesTests",
            dependencies: ["MartletCore", "MartletFiles", "MartletTesting", crypto, nioCore],
            exclude: ["Support/moto_server.py"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletSentryTests", dependencies: ["MartletCore", "MartletSentry"], swiftSettings: settings),
        .testTarget(
            name: "MartletPushTests",
            dependencies: [
                "MartletCore", "MartletHTTP", "MartletPush", "MartletPushSimulator", "MartletTesting", crypto,
                cryptoExtras, logging, nioCore,
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            exclude: ["Support/decrypt.py"], swiftSettings: settings),
        .testTarget(
            name: "MartletStatisticsTests", dependencies: ["MartletStatistics", "MartletTesting"],
            exclude: ["Support/gbstats_cases.py"], swiftSettings: settings),
        .testTarget(
            name: "AuthServiceTests",
            dependencies: [
                "AuthService", "MartletAPI", "MartletCore", "MartletHTTP", "MartletJobs", "MartletMail",
                "MartletPostgres", "MartletTesting", "ServiceTesting",
                asyncHTTPClient, crypto, cryptoExtras, httpTypes, hummingbird, hummingbirdTesting, logging, nioCore,
                nioHTTP1, serviceLifecycle,
            ],
            exclude: ["Support/passkey_device.py", "Support/oidc_provider.py"],
            swiftSettings: settings),
        .testTarget(
            name: "StorageServiceTests",
            dependencies: [
                "StorageService", "MartletAPI", "MartletCore", "MartletFiles", "MartletHTTP", "MartletJobs",
                "MartletPostgres", "MartletSchema",
                "MartletTesting", "ServiceTesting", httpTypes, hummingbird, logging, nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ConfigServiceTests",
            dependencies: [
                "AnalyticsCrashes", "AnalyticsService", "ConfigService", "MartletAPI", "MartletCompression",
                "MartletCore", "MartletFiles",
                "MartletFlags", "MartletHTTP", "MartletLogic", "MartletPostgres", "MartletStatistics",
                "MartletTesting", "ServiceTesting", crypto, httpTypes, hummingbird, hummingbirdTesting, logging,
                nioCore, serviceLifecycle,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AnalyticsServiceTests",
            dependencies: [
                "AnalyticsCrashes", "AnalyticsEvents", "AnalyticsService", "AnalyticsShared", "AnalyticsTickets",
                "MartletAPI", "MartletCompression", "MartletCore", "MartletFiles", "MartletHTTP", "MartletJobs",
                "MartletPostgres", "MartletSentry",
                "MartletTesting", "ServiceTesting", crypto, httpTypes, hummingbird, hummingbirdTesting, logging,
                nioCore, serviceLifecycle,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "NotificationsServiceTests",
            dependencies: [
                "NotificationsService", "StorageService", "MartletAPI", "MartletCore", "MartletHTTP", "MartletJobs",
                "MartletLogic", "MartletMail", "MartletPostgres", "MartletPush",
                "MartletPushSimulator", "MartletTesting", "ServiceTesting", crypto, httpTypes, hummingbird,
                hummingbirdTesting, logging, nioCore, serviceLifecycle,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OperatorCommandsTests",
            dependencies: [
                "OperatorCommands", "AuthService", "MartletAPI", "MartletCore", "MartletHTTP", "MartletPostgres",
                "MartletTesting", "ServiceTesting", argumentParser, httpTypes, logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["MartletCore", "MartletTesting", .product(name: "Yams", package: "Yams")],
            swiftSettings: settings),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "MartletAPI", "MartletCore", "MartletMail", "MartletPostgres", "MartletPushSimulator", "MartletTesting",
                asyncHTTPClient, logging, nioCore, nioHTTP1,
            ],
            exclude: [
                "Support/tus_upload.py", "Support/hook_server.py", "Support/oidc_client.py", "Support/oidc_pages.py",
                "Support/idpyoidc_client.py",
                "Support/ofrep_client.py", "Support/segment_clients.py", "Support/sentry_client.py",
                "Support/trace_collector.py",
            ],
            swiftSettings: settings),
    ]
)

// The build for the thread sanitizer (deploy/test-threads): only the PostgreSQL client and the dependencies of its
// tests.
if Context.environment["MARTLET_ONLY_POSTGRES_TESTS"] != nil {
    let needed: Set<String> = [
        "MartletAPI", "MartletLogic", "CLibPQ", "MartletCore", "MartletPostgres", "MartletPostgresTests",
    ]
    package.products = []
    package.targets.removeAll { !needed.contains($0.name) }
    package.targets.append(
        .target(
            name: "MartletTesting", dependencies: ["MartletCore", "MartletPostgres", logging],
            path: "Sources/Testing/MartletTesting",
            exclude: ["mail_server.py"],
            sources: [
                "Eventually.swift", "Leftovers.swift", "PostgresCommand.swift", "PostgresServer.swift", "Spawn.swift",
            ], swiftSettings: settings))
    // Nothing here encrypts, and BoringSSL alone would take longer to compile than everything else.
    for target in package.targets where target.name == "MartletCore" {
        target.dependencies = ["MartletAPI", "MartletLogic"]
        target.exclude = [
            "AccessToken.swift", "Credential.swift", "PrincipalSigner.swift", "SealingKey.swift", "StaffToken.swift",
            "WebhookSecret.swift",
        ]
    }
    for target in package.targets where target.name == "MartletPostgres" { target.exclude = ["Migration.swift"] }
    package.dependencies.removeAll { dependency in
        guard case .sourceControl(_, let location, _) = dependency.kind else { return true }
        return !["/swift-log", "/swift-metrics", "/swift-service-lifecycle"].contains { location.hasSuffix($0) }
    }
} else if Context.environment["SWIFT_OPTIMIZE_SHARED"] != nil {
    // The tests run in the debug configuration. There the code that all services share is optimized all the same
    // (deploy/lib.sh asks for it): parsing JSON alone took half of the tests' time.
    for target in package.targets where target.path?.hasPrefix("Sources/Shared/") == true {
        guard target.type == .regular else { continue }
        target.swiftSettings?.append(.unsafeFlags(["-O"], .when(configuration: .debug)))
    }
}

// A subset of the test targets, for faster builds: MARTLET_ONLY_TESTS=AnalyticsServiceTests,MartletCoreTests
if let names = Context.environment["MARTLET_ONLY_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
