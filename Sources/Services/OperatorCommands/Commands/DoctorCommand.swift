import ArgumentParser
import Foundation
import MartletCore
import MartletPostgres
import StorageService

/// `martlet doctor`
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks the machine and a running server, and exits with status 1 if something is wrong.",
        discussion: """
            Reads connection.json in the state folder. Without that file, uses MARTLET_DATABASE_URL and skips the \
            processes.

            A line begins with ok, note (look at it some time) or WRONG (act now). The exit status is 0 if nothing is \
            wrong, otherwise 1. With --watch it checks again and again, prints what has changed, and runs until it is \
            stopped.
            """)

    @Option(help: "The server's state folder. Default: .martlet, or that of the package if there is one.")
    var state: String?

    @Flag(help: "Check again every --interval seconds and print what has changed.")
    var watch = false

    @Option(help: "Seconds between two checks with --watch, at least 5.")
    var interval = 30

    func validate() throws {
        guard interval >= 5 else { throw ValidationError("--interval must be at least 5") }
    }

    func run() async throws {
        var last: [String]?
        while true {
            let findings = await findings()
            let lines = findings.map(\.line)
            if let last {
                let time = Date().formatted(.iso8601)
                for line in Self.changes(from: last, to: lines) { print("\(time) \(line)") }
            } else {
                for line in lines { print(line) }
            }
            guard watch else {
                if findings.contains(where: { !$0.isGood }) { throw ExitCode(1) }
                return
            }
            // Shows each line at once even if the output is a pipe.
            fflush(nil)
            last = lines
            try await Task.sleep(for: .seconds(interval))
        }
    }

    /// What `--watch` prints: lines that are new, and problems that are gone.
    static func changes(from last: [String], to lines: [String]) -> [String] {
        func problems(_ lines: [String]) -> [String] {
            lines.filter { $0.hasPrefix(Finding.problem) }.map { line in
                // Figures after the colon may change while the problem remains.
                String(line.dropFirst(Finding.problem.count).prefix { $0 != ":" })
            }
        }
        let open = Set(problems(lines))
        return lines.filter { !last.contains($0) }
            + problems(last).filter { !open.contains($0) }.map { "solved \($0)" }
    }

    private func findings() async -> [Finding] {
        let state = StateFolder.path(state)
        let connection = try? Connection.read(from: URL(fileURLWithPath: state).appending(path: "connection.json"))
        let (ofDatabase, dataFolder) = await databaseFindings(connection)
        var findings = ofDatabase
        for (name, address) in (connection?.internalServices ?? [:]).sorted(by: { $0.key < $1.key }) {
            findings.append(Finding(name: "\(name) is ready", isGood: await Health.isOK(address + "/health/ready")))
        }
        if let gateway = connection?.internalServices["gateway"], let metrics = await Health.text(gateway + "/metrics")
        {
            findings += [Self.certificateFinding(metrics: metrics, now: Date())].compactMap(\.self)
        }
        findings += [Self.renewalFinding()].compactMap(\.self)
        let backups = Self.backupFolder
        if FileManager.default.fileExists(atPath: "/usr/share/martlet")
            || FileManager.default.fileExists(atPath: backups)
        {
            findings += Self.findings(Self.backupState(in: URL(fileURLWithPath: backups)), now: Date())
        }
        findings += Self.diskFindings([".", state, dataFolder, backups, "/var/backups/martlet"])
        findings += [Self.memoryFinding((try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8)) ?? "")]
            .compactMap(\.self)
        return findings
    }

    struct Finding {
        static let problem = "WRONG "

        var name: String
        var isGood: Bool
        var mark = "ok    "

        var line: String { (isGood ? mark : Self.problem) + name }

        init(name: String, isGood: Bool, mark: String = "ok    ") {
            (self.name, self.isGood, self.mark) = (name, isGood, mark)
        }

        /// - Parameters:
        ///   - otherwise: What is wrong, or what to do.
        ///   - isOnlyNote: Whether a bad finding is a note instead of a problem.
        init(_ name: String, isGood: Bool, otherwise: String, isOnlyNote: Bool = false) {
            self.init(
                name: isGood ? name : "\(name): \(otherwise)", isGood: isGood || isOnlyNote,
                mark: isGood ? "ok    " : "note  ")
        }
    }

    /// - Returns: The findings, and the folder of the database's files if the database answers.
    private func databaseFindings(_ connection: Connection?) async -> ([Finding], String) {
        do {
            return try await Database.withClient(url: connection.map { Secret($0.databaseURL) }) { client in
                let version: String = try await client.query("SELECT current_setting('server_version')")[0].decode(0)
                let number: Int = try await client.query("SELECT current_setting('server_version_num')::int")[0].decode(
                    0)
                var findings = [Finding(name: "PostgreSQL \(version) (15 or newer)", isGood: number >= 150_000)]
                for service in ServiceRole.all {
                    findings.append(try await Self.migrationFinding(service, client))
                }
                findings.append(try await Self.ruleFinding(client))
                findings.append(try await Self.accessFinding(client))
                findings.append(try await Self.openRulesFinding(client))
                let databaseTime: Double = try await client.query(
                    "SELECT extract(epoch FROM clock_timestamp())::double precision")[0].decode(0)
                let difference = abs(databaseTime - Date().timeIntervalSince1970)
                findings.append(Finding(name: "local and database clocks agree within 5 s", isGood: difference < 5))
                if let figures = try await Self.databaseFigures(client) { findings += Self.findings(figures) }
                // On another machine, the folder is not there and is ignored.
                let folder: String = try await client.query("SELECT current_setting('data_directory')")[0].decode(0)
                return (findings, folder)
            }
        } catch {
            return ([Finding(name: "the database answers (\(error))", isGood: false)], "")
        }
    }

    private static func migrationFinding(_ service: ServiceRole, _ client: PostgresClient) async throws -> Finding {
        let name = "schema \(service.name) is up to date (\(service.migrations.count) migrations)"
        guard let table = PostgresIdentifier(schema: service.name, name: "migrations") else {
            return Finding(name: name, isGood: false)
        }
        do {
            let count: Int = try await client.query("SELECT count(*) FROM \(table)")[0].decode(0)
            let newer = count - service.migrations.count
            // The operator has gone back to an older version, which runs on the newer schema.
            guard newer <= 0 else {
                return Finding(
                    name: "schema \(service.name) has \(newer) migrations of a newer version", isGood: true,
                    mark: "note  ")
            }
            return Finding(name: name, isGood: newer == 0)
        } catch let error as PostgresError where error.sqlState == "42P01" || error.sqlState == "3F000" {
            return Finding(name: name + ": run martlet migrate", isGood: false)
        }
    }

    /// Finds notification rules that are stuck. `GET /notifications/rules` of their apps shows why.
    private static func ruleFinding(_ client: PostgresClient) async throws -> Finding {
        let name = "notification rules are not stuck"
        do {
            let rows = try await client.query(
                """
                SELECT s.app_id || ' ' || s.environment, min(stuck.since)::text FROM (
                    SELECT space, stuck_since AS since FROM notifications.rule_feeds WHERE is_active
                    UNION ALL SELECT space, stuck_since FROM notifications.rules WHERE is_enabled) AS stuck
                JOIN notifications.spaces AS s ON s.id = stuck.space WHERE stuck.since IS NOT NULL GROUP BY 1 ORDER BY 2 LIMIT 5
                """)
            let apps = try rows.map {
                "\(try $0.decode(0, as: String.self)) since \(try $0.decode(1, as: String.self))"
            }
            return Finding(
                name: apps.isEmpty ? name : name + "; stuck: " + apps.joined(separator: ", "), isGood: apps.isEmpty)
        } catch let error as PostgresError where ["42P01", "42703", "3F000"].contains(error.sqlState) {
            // The finding about its schema already reports that it is missing.
            return Finding(name: name, isGood: true)
        }
    }

    /// Names apps whose live data are open where no rule restricts them. Only a note, because this may be intended.
    private static func accessFinding(_ client: PostgresClient) async throws -> Finding {
        do {
            let rows = try await client.query(
                """
                SELECT substr(schema, 5), count(*) OVER () FROM storage.spaces
                WHERE access = 'open' AND schema !~ '_test$' ORDER BY schema LIMIT 5
                """)
            guard let first = rows.first else {
                return Finding(name: "live data without rules are closed in every app", isGood: true)
            }
            let apps = try rows.map { try $0.decode(0, as: String.self) }.joined(separator: ", ")
            return Finding(
                name: "live data without rules are open to whoever has the app, in \(try first.decode(1, as: Int.self))"
                    + " apps: \(apps); close them with PUT rules/settings", isGood: true, mark: "note  ")
        } catch let error as PostgresError where ["42P01", "42703", "3F000"].contains(error.sqlState) {
            // The finding about its schema already reports that it is missing.
            return Finding(name: "live data without rules are closed in every app", isGood: true)
        }
    }

    /// Names rules that open live data to anyone who has the app. It is only a note, because some apps need such rules.
    private static func openRulesFinding(_ client: PostgresClient) async throws -> Finding {
        let none = Finding(name: "no rule opens closed live data to whoever has the app", isGood: true)
        do {
            let open = try await OpenRules.find(on: client, upTo: 5)
            guard open.numberOfCollections > 0 else { return none }
            return Finding(
                name: """
                    rules open live data to whoever has the app, even without signing in, in \
                    \(open.numberOfCollections) collections: \(open.places.joined(separator: ", ")); GET rules/report \
                    lists all of an app; to close them, put "authenticated", a role or a field in place of "*" by PUT collections/{collection}/rules
                    """, isGood: true, mark: "note  ")
        } catch let error as PostgresError where ["42P01", "42703", "3F000"].contains(error.sqlState) {
            // The finding about its schema already reports that it is missing.
            return none
        }
    }

    /// When the gateway's certificate expires; nil without TLS. ACME clients renew long before the last 14 days.
    static func certificateFinding(metrics: String, now: Date) -> Finding? {
        let name = "martlet_gateway_certificate_expires_seconds "
        guard let line = metrics.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
            let seconds = Double(line.dropFirst(name.count)), seconds > 0, seconds < 1e12
        else { return nil }
        let expires = Date(timeIntervalSince1970: seconds)
        let (day, left) = (expires.formatted(.iso8601.year().month().day()), expires.timeIntervalSince(now) / 86_400)
        guard left > 0 else { return Finding(name: "the TLS certificate expired on \(day)", isGood: false) }
        return Finding(
            name: "the TLS certificate expires on \(day), in \(Int(left)) days", isGood: true,
            mark: left < 14 ? "note  " : "ok    ")
    }

    /// Whether certbot's timer renews the certificate; nil unless `martlet setup` gets certificates by ACME. In that
    /// case the script of `martlet setup` has created the folder (deploy/debian/libexec/lib.sh).
    private static func renewalFinding() -> Finding? {
        guard FileManager.default.fileExists(atPath: "/var/lib/martlet-acme") else { return nil }
        guard systemctl("is-active", "certbot.timer") else {
            return Finding(name: "certbot.timer renews the certificate: it is not active", isGood: false)
        }
        let hasFailed = systemctl("is-failed", "certbot.service")
        let name = "certbot.timer renews the certificate"
        return Finding(
            name: hasFailed ? name + ": the last time it failed; see journalctl -u certbot" : name, isGood: !hasFailed)
    }

    private static func systemctl(_ question: String, _ unit: String) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/systemctl")
        process.arguments = [question, "--quiet", unit]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
