import AnalyticsService
import AuthService
import ConfigService
import Foundation
import Logging
import MartletCore
import MartletHTTP
import NotificationsService
import StorageService

/// A route of one of the services.
struct ServiceRoute: Sendable {
    let service: ServiceName
    let route: Route
    let section: RouteSection
}

extension ServiceRoute {
    /// The routes of all services, in declaration order.
    static func all() async throws -> [ServiceRoute] {
        try await definitions().flatMap { name, definition in
            definition.routes.routes.map { ServiceRoute(service: name, route: $0.route, section: $0.section) }
        }
    }

    /// All services, created with placeholder settings. They are never started.
    ///
    /// They are kept until the process ends, because some of their parts must not be released before they have run.
    static func definitions() async throws -> [(name: ServiceName, definition: any ServiceDefinition)] {
        try await made.value
    }

    private static let made = Task { try await makeDefinitions() }

    private static func makeDefinitions() async throws -> [(name: ServiceName, definition: any ServiceDefinition)] {
        let folder = FileManager.default.temporaryDirectory.path
        let settings = try await Settings(
            arguments: ["martlet"],
            environment: [
                "MARTLET_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
                "MARTLET_INTERNAL_SECRET": String(repeating: "0", count: 64),
                "MARTLET_FILES_PATH": folder, "MARTLET_SYMBOLS_PATH": folder,
            ])
        let logger = Logger(label: "martlet") { _ in SwiftLogNoOpLogHandler() }
        let types: [(ServiceName, any ServiceDefinition.Type)] = [
            (.storage, StorageService.self), (.auth, AuthService.self), (.config, ConfigService.self),
            (.analytics, AnalyticsService.self), (.notifications, NotificationsService.self),
        ]
        return try types.map { name, type in
            (name, try type.init(settings: settings, logger: logger))
        }
    }
}
