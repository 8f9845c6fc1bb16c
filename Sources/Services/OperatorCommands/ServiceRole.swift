import AnalyticsService
import AuthService
import ConfigService
import MartletPostgres
import NotificationsService
import StorageService

/// A service as the database sees it: a schema, a role `martlet_<name>` that can use nothing else, and steps to make it.
struct ServiceRole: Sendable {
    static let all = [
        ServiceRole(name: AuthService.name, migrations: AuthService.migrations),
        ServiceRole(name: StorageService.name, migrations: StorageService.migrations),
        ServiceRole(name: ConfigService.name, migrations: ConfigService.migrations),
        ServiceRole(name: AnalyticsService.name, migrations: AnalyticsService.migrations),
        ServiceRole(name: NotificationsService.name, migrations: NotificationsService.migrations),
    ]

    let name: String
    let migrations: [Migration]

    var role: String { "martlet_" + name }
}
