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
    /// The routes of all services, in the order of their declaration.
    ///
    /// A service is built for this, with settings that lead nowhere, and never started. It is kept until the process
    /// ends, because some of its parts must not be released without having run.
    static func all() async throws -> [ServiceRoute] {
        let folder = FileManager.default.temporaryDirectory.path
        let settings = try await Settings(
            arguments: ["martlet"],
            environment: [
                "MARTLET_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
                "MARTLET_INTERNAL_SECRET": String(repeating: "0", count: 64),
                "MARTLET_FILES_PATH": folder, "MARTLET_SYMBOLS_PATH": folder,
            ])
        let logger = Logger(label: "martlet") { _ in SwiftLogNoOpLogHandler() }
        return try routes(of: StorageService.self, .storage, settings, logger)
            + routes(of: AuthService.self, .auth, settings, logger)
            + routes(of: ConfigService.self, .config, settings, logger)
            + routes(of: AnalyticsService.self, .analytics, settings, logger)
            + routes(of: NotificationsService.self, .notifications, settings, logger)
    }

    private static func routes<Definition: ServiceDefinition>(
        of type: Definition.Type, _ name: ServiceName, _ settings: Settings, _ logger: Logger
    ) throws -> [ServiceRoute] {
        let definition = try Definition(settings: settings, logger: logger)
        keep(definition)
        return definition.routes.routes.map { ServiceRoute(service: name, route: $0.route, section: $0.section) }
    }

    private static func keep(_ definition: some ServiceDefinition) {
        _ = Unmanaged.passRetained(Kept(definition: definition))
    }

    private final class Kept {
        let definition: any ServiceDefinition

        init(definition: any ServiceDefinition) {
            self.definition = definition
        }
    }
}
