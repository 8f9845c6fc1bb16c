import ArgumentParser
import Foundation
import MartletCore
import MartletPostgres
import StorageService

/// `martlet doctor`
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks a running server, reports problems, and exits with status 1 if there are any.",
        discussion:
            "Reads .martlet/connection.json of a server started by deploy/up. Without that file, uses MARTLET_DATABASE_URL and skips the processes."
    )

    @Option(help: "The server's state folder.")
    var state = ".martlet"

    func run() async throws {
        let connection = try? Connection.read(from: URL(fileURLWithPath: state).appending(path: "connection.json"))
        var findings = await databaseFindings(connection)
        for (name, address) in (connection?.internalServices ?? [:]).sorted(by: { $0.key < $1.key }) {
            findings.append(Finding(name: "\(name) is ready", isGood: await Health.isOK(address + "/health/ready")))
        }
        if let gateway = connection?.internalServices["gateway"], let metrics = await Health.text(gateway + "/metrics")
        {
            findings += [Self.certificateFinding(metrics: metrics, now: Date())].compactMap(\.self)
        }
        findings += [Self.renewalFinding()].compactMap(\.self)
        findings.append(diskFinding())
        for finding in findings { print((finding.isGood ? finding.mark : "WRONG ") + finding.name) }
        if findings.contains(where: { !$0.isGood }) { throw ExitCode(1) }
    }

    struct Finding {
        var name: String
        var isGood: Bool
        var mark = "ok    "
    }

    private func databaseFindings(_ connection: Connection?) async -> [Finding] {
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
                let skew: Double = try await client.query(
                    "SELECT extract(epoch FROM clock_timestamp())::double precision")[0].decode(0)
                let difference = abs(skew - Date().timeIntervalSince1970)
                findings.append(Finding(name: "local and database clocks agree within 5 s", isGood: difference < 5))
                return findings
            }
        } catch {
            return [Finding(name: "the database answers (\(error))", isGood: false)]
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
            // After going back to an older version, which runs on the newer schema.
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

    private func diskFinding() -> Finding {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: ".")
        let free = (attributes?[.systemFreeSize] as? NSNumber)?.int64Value ?? 0
        return Finding(name: "at least 1 GiB of disk space is free", isGood: free >= 1 << 30)
    }
}
