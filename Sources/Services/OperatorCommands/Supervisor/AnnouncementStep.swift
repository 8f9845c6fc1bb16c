import AuthService
import Foundation
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// Creates the first app and staff member, writes `connection.json`, and prints the connection once every process is
/// ready. What no rule restricts is open in the first app, on purpose: it is for trying things out.
struct AnnouncementStep: Service {
    let plan: ServerPlan
    let publicURL: String
    let superuserURL: Secret
    let state: URL
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
        announce(connection, isOpen: (try? await isOpen(connection.appId)) ?? false)
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

    /// Before storage first uses the app's space.
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
        connection.oidcIssuer = plan.issuer(of: connection.appId)
        connection.sentryDSN = plan.sentryDSN(
            key: connection.ingestKey, appNumber: connection.appNumber, publicURL: publicURL)
        connection.databaseURL = superuserURL.withValue { $0 }
        connection.services = Dictionary(uniqueKeysWithValues: plan.entries.map { ($0.name, $0.address) })
        connection.internalServices = Dictionary(
            uniqueKeysWithValues: plan.entries.map { ($0.name, $0.internalAddress) })
    }

    /// Creates `admin`, or a numbered name if `admin` exists but its password was lost with `connection.json`.
    private func makeStaff(_ client: PostgresClient) async throws -> (name: String, password: String) {
        let store = StaffStore(postgres: client)
        let password = Secret.random()
        for name in ["admin"] + (2...1_000).map({ "admin\($0)" }) {
            if try await store.create(userName: name, password: password, isAdministrator: true) {
                return (name, password.withValue { $0 })
            }
        }
        throw UpError("no user name is available for the first staff member")
    }

    private func announce(_ connection: Connection, isOpen: Bool) {
        let text = """

            Martlet is ready.

              address      \(connection.url)
              app key      \(connection.appKey)
              secret       \(connection.secret)
              all keys     \(file.path)

            Try it:

              curl -H 'X-Martlet-Secret: \(connection.secret)' \\
                   -d '{"title":"hello"}' \(connection.url)/api/\(connection.appKey)/storage/Notes
              curl -H 'X-Martlet-Secret: \(connection.secret)' \\
                   -d '{"title":"hello"}' \(connection.url)/api/\(connection.appKey)/storage/query/Notes

            \(isOpen ? openness(connection) : "  access       closed: clients may only do what a rule allows")


            """
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    private func openness(_ connection: Connection) -> String {
        """
          access       open: whoever has the secret may do what no rule restricts. Close the app before you ship it:

              curl -X PUT -H "X-Martlet-Master-Key: $(jq -r .masterKey \(file.path))" \\
                   -d '{"access":"closed"}' \(connection.url)/api/\(connection.appKey)/rules/settings
        """
    }
}
