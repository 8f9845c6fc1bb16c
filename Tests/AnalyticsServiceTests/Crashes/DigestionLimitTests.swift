import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletSentry
import MartletTesting
import Synchronization
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

/// Reports that use too much CPU time, or during which the process died.
@Suite struct DigestionLimitTests {
    private static func withFolder(_ body: @Sendable (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "martlet-spool-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    private static func crashes(
        _ app: AnalyticsApp, _ directory: String, budget: Duration = .seconds(60),
        symbolicate: @escaping @Sendable (JSONValue) async -> Void
    ) -> Crashes {
        var settings = CrashSettings()
        settings.spoolDirectory = directory
        settings.cpuTimePerReport = budget
        let helpers = CrashHelpers(symbolicate: { report, _ in
            await symbolicate(report)
            return CrashHelpers.Symbolicated(report: report)
        })
        return Crashes(
            postgres: app.postgres, spaces: app.service.spaces, files: app.service.crashes.digester.digestion.files,
            settings: settings, helpers: helpers,
            logger: .silent, now: { Date() })
    }

    private static func record(_ app: AnalyticsApp, _ function: String) -> [UInt8] {
        ReceivedEnvelope(
            appID: app.appID, environment: .live, received: Date(), eventID: nil, coding: nil,
            body: TestEnvelope.bytes([("event", TestEnvelope.crash(in: function))])
        ).record
    }

    private static func name(of report: JSONValue) -> String {
        report["exception"]?["values"]?.looseList.first?["stacktrace"]?["frames"]?.looseList.last?["function"]?
            .looseText ?? ""
    }

    private static func quarantine(in directory: String) throws -> Int {
        guard FileManager.default.fileExists(atPath: directory + "/refused") else { return 0 }
        return try FileManager.default.contentsOfDirectory(atPath: directory + "/refused").count
    }

    @Test func `A report that exceeds its CPU time is set aside and counted, and its neighbours are stored`()
        async throws
    {
        try await Self.withFolder { directory in
            try await AnalyticsApp.run { app in
                let isOver = Mutex(false)
                let crashes = Self.crashes(app, directory, budget: .seconds(1)) { report in
                    // Never ends by itself, and never suspends.
                    guard Self.name(of: report) == "endless" else { return }
                    while !isOver.withLock({ $0 }) {}
                }
                defer { isOver.withLock { $0 = true } }
                try await crashes.digester.writer.append(["before", "endless", "behind"].map { Self.record(app, $0) })
                try await crashes.digester.digestOwn()
                #expect(
                    try await app.rows("SELECT culprit FROM analytics.issues WHERE space = % ORDER BY culprit") == [
                        "before", "behind",
                    ])
                #expect(
                    try await app.rows(
                        "SELECT category, reason, quantity FROM analytics.crash_outcomes WHERE space = %") == [
                            "error|over_budget|1"
                        ])
                #expect(try Self.quarantine(in: directory) == 1)
                // The report is not retried, and later ones are digested while the thread is lost.
                try await crashes.digester.writer.append(Self.record(app, "later"))
                try await crashes.digester.digestOwn()
                #expect(try await app.rows("SELECT count(*) FROM analytics.issues WHERE space = %") == ["3"])
                #expect(try Self.quarantine(in: directory) == 1)
            }
        }
    }

    @Test func `A lost thread is replaced once, however many steps its work still takes`() async throws {
        let threads = DigestionThreads()
        let isOver = Mutex(false)
        let steps = Mutex(0)
        defer { isOver.withLock { $0 = true } }
        let work: @Sendable () async throws -> Void = {
            while !isOver.withLock({ $0 }) {}
            for _ in 0..<5 {
                await Task.yield()
                steps.withLock { $0 += 1 }
            }
        }
        let running = Task { try await threads.run(upTo: .milliseconds(100), work) }
        await #expect(throws: DigestionThreads.OverBudget.self) { try await running.value }
        try await eventually("a thread is lost") { threads.lostThreads == 1 }
        isOver.withLock { $0 = true }
        try await eventually("the work ends") { steps.withLock { $0 } == 5 }
        try await eventually("no thread is lost") { threads.lostThreads == 0 }
    }

    @Test func `Requests are answered while all digestion threads are busy`() async throws {
        try await Self.withFolder { directory in
            try await AnalyticsApp.run { app in
                let isOver = Mutex(false)
                let busy = Mutex(0)
                let crashes = Self.crashes(app, directory) { _ in
                    busy.withLock { $0 += 1 }
                    while !isOver.withLock({ $0 }) {}
                }
                defer { isOver.withLock { $0 = true } }
                try await crashes.digester.writer.append((0..<4).map { Self.record(app, "f\($0)") })
                let running = Task { try await crashes.digester.digestOwn() }
                try await eventually("two threads are busy") { busy.withLock { $0 } >= 2 }
                for _ in 0..<20 { #expect(try await app.master("GET", "/analytics/settings").status == 200) }
                isOver.withLock { $0 = true }
                try await running.value
            }
        }
    }

    @Test
    func
        `A report in progress when the process died is retried alone, and set aside after a second death`()
        async throws
    {
        try await Self.withFolder { directory in
            try await AnalyticsApp.run { app in
                let seen = Mutex<[String]>([])
                let atOnce = Mutex((now: 0, most: 0))
                func start() -> Crashes {
                    Self.crashes(app, directory) { report in
                        atOnce.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                        seen.withLock { $0.append(Self.name(of: report)) }
                        try? await Task.sleep(for: .milliseconds(20))
                        atOnce.withLock { $0.now -= 1 }
                    }
                }
                let ends: [SpoolPosition]
                let path: String
                do {
                    let writer = SpoolWriter(directory: directory, sizeInBytes: 64 << 20)
                    try await writer.append(["a", "killer", "b"].map { Self.record(app, $0) })
                    let written = try #require(writer.written)
                    path = written.folder.path
                    ends = try SpoolReader(folder: written.folder).read(
                        from: .start, upTo: written.end, count: 10, sizeInBytes: 1 << 20
                    ).ends
                    // All three were in progress when the process died.
                    for end in ends { _ = written.folder.marks.begin(end) }
                }
                // The next process takes over, and dies with one of them.
                let first = try await eventually("the folder is abandoned") {
                    SpoolFolder.abandoned(in: directory).first
                }
                first.marks.recover()
                #expect(ends.map { first.marks.deaths(of: $0) } == [1, 1, 1])
                _ = first.marks.begin(ends[1])
                #expect(FileManager.default.fileExists(atPath: path + "/deaths"))
                let crashes = start()
                // The next process counts the deaths of the previous one.
                let marks = DigestionMarks(path: path)
                marks.recover()
                #expect(ends.map { marks.deaths(of: $0) } == [1, 2, 1])
                first.marks.recover()
                await crashes.digester.finish(first)
                #expect(seen.withLock { $0 } == ["a", "b"] && atOnce.withLock { $0.most } == 1)
                #expect(
                    try await app.rows("SELECT culprit FROM analytics.issues WHERE space = % ORDER BY culprit") == [
                        "a", "b",
                    ])
                #expect(
                    try await app.rows(
                        "SELECT category, reason, quantity FROM analytics.crash_outcomes WHERE space = %") == [
                            "error|died_twice|1"
                        ])
                #expect(try Self.quarantine(in: directory) == 1)
                #expect(!FileManager.default.fileExists(atPath: path), "nothing is left of the spool")
            }
        }
    }

    @Test func `Records digested before the process died are not suspected`() async throws {
        try await Self.withFolder { directory in
            let folder = try SpoolFolder.make(in: directory)
            let (one, other) = (SpoolPosition(segment: 1, offset: 100), SpoolPosition(segment: 1, offset: 250))
            let slot = folder.marks.begin(one)
            _ = folder.marks.begin(other)
            folder.marks.end(slot)
            let marks = DigestionMarks(path: folder.path)
            marks.recover()
            #expect(marks.deaths(of: one) == 0 && marks.deaths(of: other) == 1)
            // Another start without work in progress does not count it again.
            let next = DigestionMarks(path: folder.path)
            next.recover()
            #expect(next.deaths(of: other) == 1)
        }
    }
}
