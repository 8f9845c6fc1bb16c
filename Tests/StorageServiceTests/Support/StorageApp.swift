import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// An app used by one test only, on a database and service that it shares with other tests of this process.
///
/// `IsolationTests` shows that apps do not see each other, which lets all other tests run in parallel.
struct StorageApp: Sendable {
    let id: String
    let database: MigratedDatabase
    let superuser: PostgresClient
    /// Logged in as `martlet_storage`.
    let postgres: PostgresClient
    private let service: ServiceClient
    /// Keeps the database.
    private let parts: StorageParts
    /// Parts of the service itself.
    let live: Live
    let objects: ObjectStore
    /// One instance serves all apps of these tests.
    let versions: KnownVersions

    init() async throws {
        try await self.init(SharedStorage.instance.parts())
    }

    /// For tests that others must not disturb, such as those with workers that end.
    init(alone database: MigratedDatabase) async throws {
        try await self.init(StorageParts(on: database))
    }

    /// Another app in the same database and service. `init()` may start a new database.
    func neighbour() -> StorageApp { StorageApp(parts) }

    /// Another copy of the service, on the same database. It is not running, so it is never notified of changes.
    func anotherCopy() -> StorageService {
        StorageService(postgres: postgres, files: SharedFiles.settings, logger: .silent, hooks: SharedHooks.settings)
    }

    private init(_ shared: StorageParts) {
        parts = shared
        id = "t" + UUID().uuidString.filter { $0 != "-" }.lowercased().prefix(12)
        database = shared.database
        superuser = shared.superuser
        postgres = shared.postgres
        service = shared.service
        live = shared.live
        objects = shared.objects
        versions = shared.versions
    }

    /// An app whose spaces have the access that they have outside of tests: live is closed, test is open.
    static func withDefaultAccess() async throws -> StorageApp {
        let app = try await StorageApp()
        for environment in [AppEnvironment.live, .test] {
            let schema = try app.space(environment).schema
            try await app.superuser.execute(
                "INSERT INTO storage.spaces (schema, version, access) VALUES (\(schema), 0, NULL)")
        }
        return app
    }

    func principal(_ kind: Principal.Kind, _ environment: AppEnvironment = .live) -> Principal {
        Principal(kind: kind, appID: id, appNumber: 1, environment: environment, credentialID: "test")
    }

    /// A client with the app key and the secret.
    var client: ServiceClient { service.acting(as: principal(.client)) }
    /// The same in the test environment.
    var testClient: ServiceClient { service.acting(as: principal(.client, .test)) }
    func acting(as principal: Principal) -> ServiceClient { service.acting(as: principal) }
    /// A client with a user signed in.
    func user(_ id: String) -> ServiceClient {
        var principal = principal(.client)
        principal.userID = id
        return service.acting(as: principal)
    }
    var sharedWorker: SharedWorker { parts.worker }
    var master: ServiceClient { service.acting(as: principal(.master)) }
    /// A staff member with rights in this app.
    func staff(may areas: StaffRights.Areas, _ environment: AppEnvironment = .live) -> ServiceClient {
        var principal = principal(.staff, environment)
        principal.staff = StaffGrant(
            id: "0193a000-0000-7000-8000-000000000001", userName: "sam", rights: StaffRights([id: areas]),
            confirmed: Int64(Date().timeIntervalSince1970))
        return acting(as: principal)
    }

    func space(_ environment: AppEnvironment = .live) throws -> AppSchema {
        try AppSchema(principal(.client, environment))
    }

    /// Every collection of the app with all its rows and indexes, as text.
    func contents(_ environment: AppEnvironment = .live) async throws -> [String: String] {
        try await everything(environment).filter { !$0.key.hasPrefix("_") }
    }

    /// The same with the space's own tables that have rows, except failures of hooks, which are not part of a write.
    func everything(_ environment: AppEnvironment = .live) async throws -> [String: String] {
        let schema = try space(environment).schema
        var contents: [String: String] = [:]
        for row in try await superuser.query(
            """
            SELECT relname::text,
                (SELECT string_agg(pg_get_indexdef(indexrelid), '|' ORDER BY indexrelid) FROM pg_index WHERE indrelid = c.oid)
            FROM pg_class AS c WHERE relnamespace = to_regnamespace(\(schema)) AND relkind IN ('r', 'p') AND relname <> '_hook_failures'
            """)
        {
            let (name, indexes) = (try row.decode(0, as: String.self), try row.decode(1, as: String?.self) ?? "")
            let qualified = try #require(PostgresIdentifier(schema: schema, name: name))
            var query: PostgresQuery =
                "SELECT coalesce(string_agg(t::text, '|' ORDER BY t::text), '') || \(indexes), count(*) FROM \(qualified) AS t"
            query.isPrepared = false
            let table = try await superuser.query(query)[0]
            // The absence of files is recorded when a space is created.
            if name == "_file_usage", try table.decode(0, as: String?.self)?.hasPrefix("(t,0,0,,)") != false {
                continue
            }
            // So is the collection of users.
            if name == "_collections", try table.decode(1, as: Int.self) == 1,
                try table.decode(0, as: String?.self)?.hasPrefix("(_User,") == true
            {
                continue
            }
            if try !name.hasPrefix("_") || table.decode(1, as: Int.self) > 0 { contents[name] = try table.decode(0) }
        }
        return contents
    }

    /// Waits until a number of the app's statements wait for a lock.
    func waitUntilStatementsWait(_ count: Int = 1) async throws {
        let pattern = "%\(id)%"
        try await eventually("\(count) statements wait") {
            try await superuser.query(
                """
                SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE \(pattern)
                """
            ).count >= count
        }
    }

    /// Waits until a statement waits for the table that this transaction has locked exclusively.
    ///
    /// Reads `pg_locks`, because a transaction sees `pg_stat_activity` as it was at its first query.
    static func waitUntilAStatementWaits(for transaction: PostgresTransaction) async throws {
        try await eventually("a statement waits for the lock") {
            try await !transaction.query(
                """
                SELECT FROM pg_locks AS held JOIN pg_locks AS wanted USING (database, relation)
                WHERE held.pid = pg_backend_pid() AND held.mode = 'AccessExclusiveLock' AND NOT wanted.granted
                """
            ).isEmpty
        }
    }

    /// Expects a problem response, and that nothing was written.
    func expectRefusal(
        _ code: ErrorCode, field: String? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ request: () async throws -> Answer
    ) async throws {
        let before = try await everything()
        let answer = try await request()
        #expect(
            answer.isProblem(code, field: field), "\(code.rawValue) expected: \(answer)", sourceLocation: sourceLocation
        )
        #expect(try await everything() == before, "something was written", sourceLocation: sourceLocation)
    }
}

/// Drops its database when the last app on it is gone.
private final class StorageParts: Sendable {
    let database: MigratedDatabase
    let superuser: PostgresClient
    let postgres: PostgresClient
    private let builder: PostgresClient
    let worker = SharedWorker()
    let service: ServiceClient
    let live: Live
    let objects: ObjectStore
    let versions: KnownVersions

    init(on database: MigratedDatabase) async throws {
        postgres = database.client(for: "storage", maximumConnections: 4)
        builder = database.client(for: "storage", maximumConnections: 2)
        let storage = StorageService(
            postgres: postgres, files: SharedFiles.settings, logger: .silent,
            builder: builder, hooks: SharedHooks.settings,
            ruleTrials: RuleTrial.Limits(total: .seconds(120), statementInMilliseconds: 60_000))
        self.database = database
        superuser = database.superuserClient()
        // Most tests write without rules. Those of closed spaces say so (`StorageApp.withDefaultAccess`).
        try await superuser.execute("ALTER TABLE storage.spaces ALTER COLUMN access SET DEFAULT 'open'")
        service = try await ServiceClient(storage)
        (live, objects, versions) = (storage.live, storage.objects, storage.versions)
    }

    deinit {
        Task { [database, superuser, postgres, builder, worker] in
            await worker.stop()
            for client in [superuser, postgres, builder] { await client.close() }
            try? await database.server.dropDatabase(named: database.name)
        }
    }
}

private actor SharedStorage {
    static let instance = SharedStorage()
    /// An app has a hundred tables and indexes. PostgreSQL becomes slow when thousands of them are created in one
    /// database, because each of its connections has to note every one.
    private static let appsPerDatabase = 60

    /// The last ones, because a test may keep a client and no app.
    private var databases: [Task<StorageParts, any Error>] = []
    private var apps = 0

    func parts() async throws -> StorageParts {
        if apps.isMultiple(of: Self.appsPerDatabase) {
            databases = databases.suffix(2) + [Task { try await StorageParts(on: MigratedDatabase.make()) }]
        }
        apps += 1
        return try await databases[databases.count - 1].value
    }
}

/// Names refused for every route with a collection.
enum BadNames {
    /// The expected error for a name. A name that is not valid text is refused before its form is checked.
    static func refusal(of name: String, otherwise code: ErrorCode) -> ErrorCode {
        ["%00", "%ff", "%zz"].contains(where: name.contains) ? .invalidPath : code
    }

    /// Percent-encoded as in a path.
    static let collections = [
        "1a", "_a", "-a", "a%20b", "a.b", "a%22%3B%20DROP%20TABLE%20x", "%27", "a%27", "%5C", "a%5C", "%C3%BC",
        "a%C3%BC", "a%00",
        "a$b", "a%2Fb", "*", "%F0%9F%98%80", "a%0A", "pg_catalog.pg_class", String(repeating: "a", count: 64),
        String(repeating: "a", count: 1_000), "%ff", "%zz",
    ]

    static let ids = [
        "-a", ".a", ":a", "~a", "@a", "a%20b", "a%22", "%27%20OR%20%271%27=%271", "a%5C", "%C3%BC", "a%00", "a%2Fb",
        "a$", "%ff",
        "%zz", "a%0A", String(repeating: "a", count: 129),
    ]
}
