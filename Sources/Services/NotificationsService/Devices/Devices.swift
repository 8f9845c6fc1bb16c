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
    private let postgres: PostgresClient

    init(postgres: PostgresClient, spaces: Spaces, sealing: SealingKey, settings: DeviceSettings, logger: Logger) {
        self.postgres = postgres
        self.spaces = spaces
        credentials = PushCredentials(store: CredentialStore(postgres: postgres, sealing: sealing))
        installations = InstallationStore(postgres: postgres)
        access = InstallationAccess(postgres: postgres, spaces: spaces)
        clients = PushClients(hosts: settings.hosts, logger: logger)
        housekeeping = InstallationHousekeeping(postgres: postgres, days: settings.daysUnseen, logger: logger)
    }

    var background: [any Service] {
        [clients.apns, PushCredentialsWatch(credentials: credentials, postgres: postgres), housekeeping]
    }

    var userData: any UserDataHolder { InstallationUserData(postgres: postgres, spaces: spaces) }
}
