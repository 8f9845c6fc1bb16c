import AuthService
import Foundation
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// Creates the first app and staff member, writes `connection.json`, and prints the connection once every process is
/// ready. Data of the first app that no rule restricts are open, because this app is for trying the server out.
struct AnnouncementStep: Service {
    let plan: ServerPlan
    let publicURL: String
    let superuserURL: Secret
    let state: URL
    /// Whether the gateway serves the dashboard.
    let hasDashboard: Bool
    /// User name of the first staff member.
    let staffUser: String
    let gate: StartGate

    func run() async throws {
        await cancelWhenGracefulShutdown { await gate.pass() }
        if Task.isShuttingDownGracefully || Task.isCancelled { return }
        for entry in plan.entries {
            try await Readiness.wait(
                for: entry.name, log: state.appending(path: "log/\(entry.name).log"), limit: .seconds(60)
            ) {
                await Health.isOK(entry.internalAddress + "/health/ready")
            }
        }
        try PrivateFile.write(Data("\(getpid())\n".utf8), to: state.appending(path: "run/ready"))
        let connection = try Connection.read(from: file)
        // Set by systemd if the journal keeps the output (systemd.exec(5)).
        let isKept = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil
        let text = connection.announcement(
            file: file, isOpen: (try? await isOpen(connection.appId)) ?? false, showsPassword: !isKept)
        FileHandle.standardOutput.write(Data(text.utf8))
        try? await gracefulShutdown()
        try? FileManager.default.removeItem(at: state.appending(path: "run/ready"))
    }

    /// Runs before the services start, so that no service becomes ready without the app.
    func prepare() async throws {
        let connection = try await Database.withClient(url: superuserURL, makeConnection)
        try connection.write(to: file)
    }

    private var file: URL { state.appending(path: "connection.json") }

    /// Updates the connection of an earlier start with the current addresses, or creates a new one.
    private func makeConnection(_ client: PostgresClient) async throws -> Connection {
        let apps = AppStore(postgres: client)
        if var known = try? Connection.read(from: file), try await apps.find(known.appId) != nil {
            setAddresses(&known)
            return known
        }
        let app: NewApp
        if let first = try await apps.list().first {
            app = try await NewApp(credentialsOf: first, in: client)
        } else {
            app = try await NewApp.create(name: "First app", in: client)
            try await open(app.appId, in: client)
        }
        let staff = try await makeStaff(client)
        var connection = Connection(
            url: "", appId: app.appId, appNumber: app.appNumber, appKey: app.appKey, secret: app.secret,
            masterKey: app.masterKey ?? "", testAppKey: app.testAppKey, ingestKey: app.ingestKey,
            evaluationKey: app.evaluationKey, staffUser: staff.name, staffPassword: staff.password, databaseURL: "",
            services: [:], internalServices: [:])
        setAddresses(&connection)
        return connection
    }

    /// Lets clients do everything that no rule restricts. Must run before storage first uses the app's space.
    private func open(_ app: String, in client: PostgresClient) async throws {
        try await client.execute(
            """
            INSERT INTO storage.spaces (schema, version, access) VALUES (\("app_" + app), 0, 'open')
            ON CONFLICT DO NOTHING
            """)
    }

    private func isOpen(_ app: String) async throws -> Bool {
        try await Database.withClient(url: superuserURL) { client in
            try await !client.query(
                "SELECT FROM storage.spaces WHERE schema = \("app_" + app) AND access = 'open'"
            ).isEmpty
        }
    }

    private func setAddresses(_ connection: inout Connection) {
        connection.url = publicURL
        connection.dashboard = hasDashboard ? publicURL + "/dashboard/" : nil
        connection.oidcIssuer = plan.issuer(of: connection.appId)
        connection.sentryDSN = plan.sentryDSN(
            key: connection.ingestKey, appNumber: connection.appNumber, publicURL: publicURL)
        connection.databaseURL = superuserURL.withValue { $0 }
        connection.services = Dictionary(uniqueKeysWithValues: plan.entries.map { ($0.name, $0.address) })
        connection.internalServices = Dictionary(
            uniqueKeysWithValues: plan.entries.map { ($0.name, $0.internalAddress) })
    }

    /// Creates `staffUser`, or a numbered name if it exists but its password was lost with `connection.json`.
    private func makeStaff(_ client: PostgresClient) async throws -> (name: String, password: String) {
        let store = StaffStore(postgres: client)
        let password = Secret.random()
        for name in [staffUser] + (2...1_000).map({ "\(staffUser)\($0)" }) {
            if try await store.create(userName: name, password: password, isAdministrator: true) {
                return (name, password.withValue { $0 })
            }
        }
        throw UpError("no user name is available for the first staff member")
    }
}
