import Foundation
import ServiceTesting
import Testing

@testable import OperatorCommands

@Suite struct DoctorTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    @Test(arguments: [
        (3_456_000.0, "ok    the TLS certificate expires on 2027-02-24, in 40 days"),
        (1_209_600.0, "ok    the TLS certificate expires on 2027-01-29, in 14 days"),
        (1_209_599.0, "note  the TLS certificate expires on 2027-01-29, in 13 days"),
        (60.0, "note  the TLS certificate expires on 2027-01-15, in 0 days"),
        (0.0, "WRONG the TLS certificate expired on 2027-01-15"),
    ])
    func `A certificate that expires within 14 days is noted, and an expired one is a problem`(
        _ left: Double, _ expected: String
    ) throws {
        let metrics = """
            # HELP martlet_gateway_certificate_expires_seconds When the TLS certificate in use expires.
            # TYPE martlet_gateway_certificate_expires_seconds gauge
            martlet_gateway_certificate_expires_seconds \(1_800_000_000 + left)
            martlet_gateway_connections 3.0

            """
        let finding = try #require(DoctorCommand.certificateFinding(metrics: metrics, now: Self.now))
        #expect(finding.line == expected)
    }

    @Test(arguments: ["", "martlet_gateway_certificate_expires_seconds x\n", "martlet_gateway_connections 3.0\n"])
    func `Without a certificate there is nothing to say about it`(_ metrics: String) {
        #expect(DoctorCommand.certificateFinding(metrics: metrics, now: Self.now) == nil)
    }

    private static let healthy = DoctorCommand.DatabaseFigures(
        connections: 89, maximumConnections: 100, transactionAge: 200_000_000, archiveFails: false, slotSizeInBytes: 0,
        oldestTransactionInSeconds: 3_599, servicesWithLateJobs: [], invalidIndexes: [])

    @Test func `each figure of the database that will stop it is a problem of its own`() {
        #expect(DoctorCommand.findings(Self.healthy).allSatisfy { $0.line.hasPrefix("ok ") })
        let changes: [(String, (inout DoctorCommand.DatabaseFigures) -> Void)] = [
            ("connections", { $0.connections = 90 }), ("open for more", { $0.oldestTransactionInSeconds = 3_600 }),
            ("frozen", { $0.transactionAge = 500_000_000 }), ("archived", { $0.archiveFails = true }),
            ("slot", { $0.slotSizeInBytes = 10 << 30 }), ("jobs of storage", { $0.servicesWithLateJobs = ["storage"] }),
        ]
        for (word, change) in changes {
            var figures = Self.healthy
            change(&figures)
            let bad = DoctorCommand.findings(figures).filter { !$0.isGood }.map(\.line)
            #expect(bad.count == 1 && bad[0].hasPrefix("WRONG ") && bad[0].contains(word), "\(word): \(bad)")
        }
        var figures = Self.healthy
        figures.invalidIndexes = ["a.b"]
        let notes = DoctorCommand.findings(figures).filter { $0.line.hasPrefix("note  ") }
        #expect(notes.count == 1 && notes[0].isGood && notes[0].name.contains("a.b"))
    }

    @Test func `backups that are old, failed or do not restore are problems, and none at all is noted`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-doctor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: folder.appending(path: name))
        }
        func lines(days: Double) -> [String] {
            let now = Self.now.addingTimeInterval(days * 86_400)
            return DoctorCommand.findings(DoctorCommand.backupState(in: folder), now: now).map {
                String($0.line.prefix(6))
            }
        }
        #expect(lines(days: 0) == ["note  "])
        // 1,800,000,000 is 2027-01-15T08:00:00Z.
        try write("backups.json", #"[{"id":"a","type":"full","time":"2027-01-15T08:00:00Z","sizeInBytes":1}]"#)
        #expect(lines(days: 1) == ["ok    ", "ok    ", "ok    ", "note  "])
        let unproved = DoctorCommand.findings(DoctorCommand.backupState(in: folder), now: Self.now).last
        #expect(unproved?.line.hasSuffix("there was none; martlet backup verify") == true)
        try write("proof.json", #"{"id":"a","time":"2027-01-15T08:00:00Z","result":"good","seconds":1}"#)
        #expect(lines(days: 1) == ["ok    ", "ok    ", "ok    ", "ok    "])
        #expect(lines(days: 3) == ["WRONG ", "ok    ", "ok    ", "ok    "])
        #expect(lines(days: 16) == ["WRONG ", "ok    ", "ok    ", "note  "])
        // As a weekly schedule writes it.
        try write("limit", "691200\n")
        #expect(lines(days: 7) == ["ok    ", "ok    ", "ok    ", "ok    "])
        #expect(lines(days: 9) == ["WRONG ", "ok    ", "ok    ", "ok    "])
        try write("proof.json", #"{"id":"a","time":"2027-01-15T08:00:00Z","result":"bad","seconds":1}"#)
        let failed = #"{"command":"now","time":"2027-01-15T08:00:00Z","seconds":2,"result":"failed"}"#
        try write("runs.json", "[\(failed)]")
        #expect(lines(days: 1) == ["ok    ", "WRONG ", "WRONG ", "ok    "])
        let files = #"{"command":"files","time":"2027-01-15T08:15:00Z","seconds":2,"result":"good"}"#
        try write("runs.json", "[\(failed),\(files)]")
        #expect(lines(days: 1) == ["ok    ", "WRONG ", "WRONG ", "ok    "])
        try write("runs.json", #"[{"command":"now","time":"2027-01-15T08:00:00Z","seconds":2,"result":"cancelled"}]"#)
        #expect(lines(days: 1) == ["ok    ", "ok    ", "WRONG ", "ok    "])
    }

    @Test func `a disk with little room and a machine with little memory are problems`() throws {
        let gibibyte = Double(1 << 30)
        for (size, free, isGood) in [
            (100.0, 5.0, true), (100, 4.9, false), (10, 1, true), (10, 0.9, false), (1_000, 20, true),
        ] {
            let finding = DoctorCommand.diskFinding("/srv", size: size * gibibyte, free: free * gibibyte)
            #expect(finding.isGood == isGood, "\(size) \(free)")
        }
        #expect(DoctorCommand.diskFindings(["/", "/", "/nowhere"]).count == 1, "one finding for a file system")
        for (available, isGood) in [(50, true), (49, false)] {
            let finding = try #require(
                DoctorCommand.memoryFinding("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: \(available) kB\n"))
            #expect(finding.line.hasPrefix(isGood ? "ok " : "note "))
        }
        #expect(DoctorCommand.memoryFinding("") == nil)
    }

    @Test func `watching prints what is new and which problems are gone`() {
        let first = ["ok    a", "WRONG b: x", "note  c"]
        #expect(DoctorCommand.changes(from: first, to: first) == [])
        #expect(DoctorCommand.changes(from: first, to: ["WRONG a", "ok    b"]) == ["WRONG a", "ok    b", "solved b"])
        #expect(DoctorCommand.changes(from: ["WRONG b: 3"], to: ["WRONG b: 4"]) == ["WRONG b: 4"])
    }

    @Test func `a migrated database has every figure`() async throws {
        try await MigratedDatabase.with { database in
            let figures = try await database.withSuperuser { try await DoctorCommand.databaseFigures($0) }
            let found = try #require(figures)
            #expect(found.maximumConnections > 9 && found.connections > 0 && !found.archiveFails)
        }
    }
}
