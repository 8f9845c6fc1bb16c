import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite struct HealthTests {
    private static func folder(_ files: [String: String]) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-health-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        return folder
    }

    @Test func `each service and the database report that they work, and one that does not answer is not ready`()
        async throws
    {
        let storage = try await OtherService.start("storage")
        let gone = ServiceAddress(
            name: "config", url: try #require(URL(string: "http://127.0.0.1:\(try FreePort.find())")))
        try await StaffClient.run { client, _ async throws in
            try await client.auth.database.withSuperuser {
                _ = try await $0.execute(
                    """
                    INSERT INTO storage.jobs (id, kind, parameters, maximum_attempts, due) VALUES
                        (gen_random_uuid(), 'a', '{}', 1, now()), (gen_random_uuid(), 'b', '{}', 1, now() + interval '1 hour')
                    """)
            }
            let health = ServerHealth(
                postgres: client.auth.postgres, services: [storage.address, gone],
                backups: BackupRecords(directory: "/nowhere"), timeLimit: .seconds(60))
            let report = await health.report()
            #expect(report.services.map(\.name) == ["auth", "storage", "config"])
            #expect(report.services.map(\.isReady) == [true, true, false])
            #expect(report.services.map(\.version) == [MartletVersion.current, MartletVersion.current, nil])
            #expect(report.services[1].waitingJobs == 1 && report.services[2].waitingJobs == nil)
            let database = try #require(report.database)
            #expect(
                (database.sizeInBytes ?? 0) > 1_000_000 && database.connections > 0 && database.maximumConnections > 9)
            #expect(report.backup == nil)
        }
    }

    @Test func `a report is returned even without the database`() async throws {
        let postgres = PostgresClient(
            configuration: PostgresConfiguration(
                url: Secret("postgresql://nobody@127.0.0.1:\(try FreePort.find())/none"), applicationName: "test",
                maximumConnections: 1), logger: .silent)
        let health = ServerHealth(postgres: postgres, services: [], backups: BackupRecords(directory: "/nowhere"))
        let running = Task { try await postgres.run() }
        defer { running.cancel() }
        let report = await health.report()
        #expect(report.database == nil && report.services.map(\.isReady) == [false])
    }

    @Test func `the right to read the status is enough, and no other right is`() async throws {
        try await StaffClient.run { client, root async throws in
            _ = try await client.make("sam", rights: #"{"*":{"status":["read"]}}"#, by: root)
            _ = try await client.make("tim", rights: #"{"*":{"audit":["read"],"staff":["read"]}}"#, by: root)
            let answer = try await client.send("GET", "health", as: try await client.signIn("sam"))
            #expect(answer.status == 200 && answer["services.0.isReady"] == "true", "\(answer)")
            #expect(try await client.send("GET", "health", as: try await client.signIn("tim")).isProblem(.forbidden))
        }
    }

    @Test func `backups are listed with the last restore test, the newest first`() throws {
        let backups = """
            [{"id":"20261127T020000Z","type":"full","time":"2026-11-27T02:00:09Z","sizeInBytes":7},
             {"id":null,"type":"diff","time":"2026-11-28T02:00:09Z","sizeInBytes":8}]
            """
        let proof = #"{"id":"20261127T020000Z","time":"2026-11-27T03:00:00Z","result":"good","rows":9,"seconds":22}"#
        let runs = """
            [{"command":"now","time":"2026-11-27T02:00:09Z","seconds":9,"result":"good"},
             {"command":"files","time":"2026-11-28T02:00:09Z","seconds":1,"result":"failed"}]
            """
        let folder = try Self.folder(["backups.json": backups, "proof.json": proof, "runs.json": runs])
        defer { try? FileManager.default.removeItem(at: folder) }
        let summary = try #require(BackupRecords(directory: folder.path).summary())
        #expect(summary.backups.map(\.type) == ["diff", "full"] && summary.backups[1].id == "20261127T020000Z")
        #expect(summary.proof?.result == "good" && summary.proof?.seconds == 22)
        #expect(summary.runs?.map(\.result) == ["failed", "good"])
        let failed = try Self.folder(["runs.json": runs])
        defer { try? FileManager.default.removeItem(at: failed) }
        #expect(BackupRecords(directory: failed.path).summary()?.backups.isEmpty == true, "the first backup failed")
    }

    @Test func `archives of apps are listed with the last run and restore test, the newest first`() throws {
        let apps = """
            [{"app":"one","archives":0,"time":null,"sizeInBytes":null,"lastRun":"2026-11-27T02:00:09Z",
              "lastResult":"failed","proof":null},
             {"app":"two","archives":2,"time":"2026-11-28T02:00:09Z","sizeInBytes":8,
              "lastRun":"2026-11-28T02:00:09Z","lastResult":"good",
              "proof":{"id":"two-1","time":"2026-11-28T03:00:00Z","result":"bad","seconds":2}}]
            """
        let folder = try Self.folder(["apps.json": apps])
        defer { try? FileManager.default.removeItem(at: folder) }
        let records = BackupRecords(directory: folder.path)
        let found = try #require(records.appArchives())
        #expect(found.map(\.app) == ["two", "one"] && found.map(\.lastResult) == ["good", "failed"])
        #expect(found[0].proof?.result == "bad" && found[1].time == nil)
        #expect(records.summary() == nil)
    }

    @Test(arguments: ["", "[]", "{}", #"[{"type":5}]"#, "[" + String(repeating: " ", count: 64 << 10) + "]"])
    func `records that are empty, damaged or too large are not listed`(_ text: String) throws {
        let folder = try Self.folder(["backups.json": text, "apps.json": text, "runs.json": text])
        defer { try? FileManager.default.removeItem(at: folder) }
        let records = BackupRecords(directory: folder.path)
        #expect(records.summary() == nil && records.appArchives() == nil)
    }
}
