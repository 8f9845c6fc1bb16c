import Foundation
import Logging
import MartletCore
import MartletHTTP
import MartletPostgres
import ServiceLifecycle

/// The push credentials of apps and their installations on devices.
struct Devices: Sendable {
    let spaces: Spaces
    let credentials: PushCredentials
    let installations: InstallationStore
    let access: InstallationAccess
    let clients: PushClients
    let housekeeping: InstallationHousekeeping
    let now: @Sendable () -> Date
    private let postgres: PostgresClient

    init(
        postgres: PostgresClient, spaces: Spaces, sealing: SealingKey, settings: DeviceSettings, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.postgres = postgres
        self.spaces = spaces
        self.now = now
        credentials = PushCredentials(store: CredentialStore(postgres: postgres, sealing: sealing))
        installations = InstallationStore(postgres: postgres, now: now)
        access = InstallationAccess(postgres: postgres, spaces: spaces)
        clients = PushClients(hosts: settings.hosts, logger: logger, now: now)
        housekeeping = InstallationHousekeeping(postgres: postgres, days: settings.daysUnseen, logger: logger)
    }

    var background: [any Service] {
        [clients.apns, PushCredentialsWatch(credentials: credentials, postgres: postgres), housekeeping]
    }

    var userData: any UserDataHolder { InstallationUserData(postgres: postgres, spaces: spaces) }
}
