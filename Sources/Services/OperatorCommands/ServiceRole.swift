import AnalyticsService
import AuthService
import ConfigService
import MartletPostgres
import NotificationsService
import StorageService

/// A service in the database: a schema, a role `martlet_<name>` that can use nothing else, and the migrations of the
/// schema.
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
