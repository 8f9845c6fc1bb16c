import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite struct StatusTests {
    private static let noon = Date(timeIntervalSince1970: 1_800_014_400)

    private static func withStore(_ body: (StatusStore) async throws -> Void) async throws {
        try await MigratedDatabase.with { database in
            let postgres = database.client(for: "auth")
            try await body(StatusStore(postgres: postgres, timeLimit: .seconds(60)))
            await postgres.close()
        }
    }

    private static func rows(_ store: StatusStore, _ place: Int, from: Date = noon, days: Double = 1) async throws
        -> [String]
    {
        let resolution = StatusResolution.all[place]
        let start = resolution.start(of: from)
        return try await store.rows(of: .host, from: start, to: from + days * 86_400, at: resolution).map {
            "\($0.series) \(Int($0.start.timeIntervalSince(start)) / 60) \($0.average) \($0.maximum)"
        }.sorted()
    }

    @Test func `every resolution has averages and maxima, and each keeps them for its own time`() async throws {
        try await Self.withStore { store in
            for (seconds, value) in [(0.0, 1.0), (59, 3), (60, 8), (899, 0), (900, 5)] {
                try await store.add(
                    ["host.cpu.user": value, "host.unknown": 1, "host.disk.used": .nan], at: Self.noon + seconds)
            }
            #expect(
                try await Self.rows(store, 0) == [
                    "host.cpu.user 0 2.0 3.0", "host.cpu.user 1 8.0 8.0", "host.cpu.user 14 0.0 0.0",
                    "host.cpu.user 15 5.0 5.0",
                ])
            #expect(try await Self.rows(store, 1) == ["host.cpu.user 0 3.0 8.0", "host.cpu.user 15 5.0 5.0"])
            #expect(try await Self.rows(store, 2) == ["host.cpu.user 0 3.4 8.0"])
            #expect(try await Self.rows(store, 3) == ["host.cpu.user 0 3.4 8.0"])
            for (days, kept) in [(1.9, 4), (2.1, 3), (15.1, 2), (62.1, 1), (395.0, 1), (398.0, 0)] {
                try await store.prune(at: Self.noon + days * 86_400)
                var left = 0
                for place in StatusResolution.all.indices {
                    if try await !Self.rows(store, place).isEmpty { left += 1 }
                }
                #expect(left == kept, "after \(days) days")
            }
        }
    }

    @Test func `one copy samples the database and the jobs, and another one takes over from it`() async throws {
        try await Self.withStore { store in
            let health = ServerHealth(
                postgres: store.postgres, services: [], backups: BackupRecords(directory: "/nowhere"),
                timeLimit: .seconds(60))
            let copies = (0..<2).map { _ in
                StatusSampler(store: store, health: health, logger: .silent, now: { Self.noon })
            }
            func count(_ series: String) async throws -> Int {
                try await store.postgres.query(
                    "SELECT coalesce(max(count), 0)::bigint FROM auth.status_samples WHERE series = \(series)")[0]
                    .decode(0)
            }
            for copy in copies + copies { try await copy.work() }
            #expect(try await count("database.connections") == 2)
            #expect(try await count("database.transactions") == 1, "a rate needs two samples of one copy")
            for series in StatusGroup.database.series + StatusGroup.jobs.series {
                #expect(try await count(series) > 0, "\(series)")
            }
            try await store.postgres.execute("UPDATE auth.status_lease SET until = now() - interval '1 second'")
            for copy in copies.reversed() { try await copy.work() }
            #expect(try await count("database.connections") == 3)
        }
    }

    @Test func `the finest resolution that has data for the range is used`() {
        let day = 86_400.0
        let cases: [(from: Double, length: Double, seconds: Int?)] = [
            (-1 / 24, 1 / 24, 60), (-1, 1, 900), (-7, 7, 900), (-30, 30, 3_600), (-365, 365, 86_400),
            (-3, 1 / 24, 900), (-20, 1, 3_600), (-100, 1 / 24, 86_400), (-3_000, 1, 86_400), (-800, 800, 86_400),
            (-801, 801, nil), (-700_000, 3_000_000, nil),
        ]
        for one in cases {
            let from = Self.noon + one.from * day
            let found = StatusResolution.finest(from: from, to: from + one.length * day, now: Self.noon)
            #expect(found?.seconds == one.seconds, "\(one)")
        }
    }

    @Test func `processes report, and the right to read the status shows the history and no other does`() async throws {
        try await StaffClient.run { client, root async throws in
            _ = try await client.make("sam", rights: #"{"*":{"status":["read"]}}"#, by: root)
            _ = try await client.make("tim", rights: #"{"*":{"audit":["read"],"staff":["read"]}}"#, by: root)
            let (sam, tim) = (try await client.signIn("sam"), try await client.signIn("tim"))
            let gateway = client.auth.gateway
            let report = #"{"values":{"processes.storage.cpu":10.0004,"processes.storage.later":1}}"#
            #expect(try await gateway.post("/internal/status", report).status == 200)
            let many = (0...64).map { #""a\#($0)":1"# }.joined(separator: ",")
            for (report, code) in [
                ("{}", ErrorCode.invalidBody), (#"{"values":{"host.cpu.user":"1"}}"#, .invalidBody),
                (#"{"values":{\#(many)}}"#, .limitExceeded),
            ] {
                let answer = try await gateway.post("/internal/status", report)
                #expect(answer.isProblem(code), "\(answer)")
            }
            for kind in [Principal.Kind.client, .master] {
                let caller = gateway.acting(
                    as: Principal(kind: kind, appID: "app1", appNumber: 1, environment: .live, credentialID: "x"))
                let answer = try await caller.post("/internal/status", #"{"values":{"host.cpu.user":1}}"#)
                #expect(answer.isProblem(.forbidden), "\(kind) \(answer)")
            }
            let answer = try await client.send("GET", "status?group=processes", as: sam)
            #expect(answer["intervalInSeconds"] == "900" && answer["series.1"] == nil, "\(answer)")
            #expect(answer["series.0.name"] == #""processes.storage.cpu""#)
            guard case .array(let averages) = answer.json?["series"]?["0"]?["averages"] else {
                Issue.record("\(answer)")
                return
            }
            #expect((96...97).contains(averages.count), "\(answer)")
            #expect(averages.filter { $0 != .null } == [.number("10")], "\(answer)")
            let host = try await client.send("GET", "status?group=host", as: sam)
            #expect(host["series"] == "[]", "\(host)")
            #expect(try await client.send("GET", "status?group=host", as: tim).isProblem(.forbidden))
            for query in [
                "", "group=all", "group=host&from=yesterday",
                "group=host&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
                "group=host&from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z", "group=host&series=cpu",
            ] {
                let answer = try await client.send("GET", "status?\(query)", as: sam)
                #expect(answer.isProblem(.invalidParameter), "\(query) \(answer)")
            }
        }
    }
}
