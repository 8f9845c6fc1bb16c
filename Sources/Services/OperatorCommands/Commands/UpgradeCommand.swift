import ArgumentParser
import Foundation
import MartletCore
import MartletPostgres

/// `martlet upgrade --plan`
struct UpgradeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract: "Says what an upgrade to this program's version will do, and what must be done first.",
        discussion: """
            Run it with the program of the new version, before it is installed: dpkg-deb --extract DEB FOLDER, then \
            FOLDER/usr/lib/martlet/bin/martlet upgrade --plan. It changes nothing. The exit status is 1 if something \
            stands in the way of the upgrade, otherwise 0.
            """)

    @Flag(help: "Required, because the upgrade itself is made by the package manager or by replacing containers.")
    var plan = false

    @Option(help: "The server's state folder. Default: .martlet, or that of the package if there is one.")
    var state: String?

    func validate() throws {
        guard plan else { throw ValidationError("use --plan; docs/OPERATIONS.md says how to upgrade") }
    }

    func run() async throws {
        let folder = URL(fileURLWithPath: StateFolder.path(state))
        let connection = try? Connection.read(from: folder.appending(path: "connection.json"))
        let schemas = try await Database.withClient(url: connection.map { Secret($0.databaseURL) }) { client in
            var schemas: [UpgradePlan.Schema] = []
            for service in ServiceRole.all { schemas.append(try await Self.schema(service, client)) }
            return schemas
        }
        let running = await Health.versions(of: connection).compactMapValues(\.self)
        let backups = URL(fileURLWithPath: DoctorCommand.backupFolder)
        let backup = DoctorCommand.backupState(in: backups)?.lastBackup
        let plan = UpgradePlan(schemas: schemas, running: running, lastBackup: backup, now: Date())
        for line in plan.lines { print(line) }
        if !plan.obstacles.isEmpty { throw ExitCode(1) }
    }

    private static func schema(_ service: ServiceRole, _ client: PostgresClient) async throws -> UpgradePlan.Schema {
        UpgradePlan.Schema(
            name: service.name, known: service.migrations.map { ($0.number, $0.name) },
            state: try await client.migrationState(schema: service.name, service.migrations))
    }
}

/// What an upgrade will do, from what the database and the running server say.
struct UpgradePlan {
    struct Schema: Sendable {
        var name: String
        /// The migrations of this program.
        var known: [(number: Int, name: String)]
        var state: MigrationState
    }

    var schemas: [Schema]
    /// Service → its version.
    var running: [String: String]
    /// Nil if no backup was made on this machine.
    var lastBackup: Date?
    var now: Date

    /// Why this version cannot run on the database.
    var obstacles: [String] {
        schemas.flatMap { schema in
            schema.state.edited.map { "migration \($0) of \(schema.name) differs from the one that was applied" }
                + schema.state.unknown.map {
                    "migration \($0) of \(schema.name) is of a newer version; restore a backup to go back"
                }
        }
    }

    private var pending: [String] {
        schemas.flatMap { schema in
            schema.known.filter { schema.state.pending.contains($0.number) }
                .map { "\(schema.name) \($0.number) \($0.name)" }
        }
    }

    var lines: [String] {
        let versions = Set(running.values).sorted().joined(separator: ", ")
        var lines = ["from \(versions.isEmpty ? "an unknown version (no service answers)" : versions)"]
        lines.append("to   \(MartletVersion.current)")
        if !obstacles.isEmpty { return lines + obstacles.map { "WRONG " + $0 } }
        if pending.isEmpty {
            lines.append("The database needs no migration.")
        } else {
            lines.append("\(pending.count) migrations, one transaction for each service; old processes keep running:")
            lines += pending.map { "  " + $0 }
        }
        let age = lastBackup.map { "the last one is \(Int(now.timeIntervalSince($0) / 60)) minutes old" }
        return lines + [
            "Then:",
            "  1. martlet backup now (\(age ?? "there is no backup on this machine")); only a backup lets you go back",
            "  2. read \"Do this when you upgrade\" in CHANGELOG.md",
            "  3. apt-get install ./martlet_\(MartletVersion.current)_amd64.deb, which migrates and restarts",
            "  4. martlet doctor; martlet version --check",
        ]
    }
}
