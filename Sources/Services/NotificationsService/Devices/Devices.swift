import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// What push services know an app by, and the app's installations on devices.
struct Devices: Sendable {
    let spaces: Spaces
    let credentials: PushCredentials
    let installations: InstallationStore
    let access: InstallationAccess
    let clients: PushClients
    private let postgres: PostgresClient

    init(postgres: PostgresClient, spaces: Spaces, sealing: SealingKey, hosts: PushHosts, logger: Logger) {
        self.postgres = postgres
        self.spaces = spaces
        credentials = PushCredentials(store: CredentialStore(postgres: postgres, sealing: sealing))
        installations = InstallationStore(postgres: postgres)
        access = InstallationAccess(postgres: postgres, spaces: spaces)
        clients = PushClients(hosts: hosts, logger: logger)
    }

    var background: [any Service] { [clients.apns, PushCredentialsWatch(credentials: credentials, postgres: postgres)] }
}
