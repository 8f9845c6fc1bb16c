import MartletCore
import MartletTesting
import Testing

@Suite struct SettingNamesTests {
    private static let processes = [
        "Services/AuthService": "auth", "Services/StorageService": "storage", "Services/ConfigService": "config",
        "Services/AnalyticsService": "analytics", "Services/AnalyticsEvents": "analytics",
        "Services/AnalyticsCrashes": "analytics", "Services/NotificationsService": "notifications",
        "Executables/gateway": "gateway",
    ]

    /// File and key of each setting that the code reads by a literal name.
    private static func reads() throws -> [(file: String, key: String)] {
        let pattern = #"settings\.\w+\(\s*"\K[a-z][a-z0-9]*(\.[a-z0-9]+)+(?=")"#
        return try SourceSearch().matches(of: pattern, in: ["Sources"]).map { ($0.file, $0.text) }
    }

    @Test func `every setting that the code reads is listed with its process`() throws {
        let reads = try Self.reads()
        #expect(reads.count > 80)
        for (file, key) in reads {
            let process = Self.processes.first { file.hasPrefix("Sources/\($0.key)/") }?.value
            let known = process.flatMap { SettingNames.byProcess[$0] } ?? Set(SettingNames.byProcess.values.joined())
            #expect(known.contains(key), "\(key), read in \(file)")
        }
    }

    @Test func `every listed setting is read`() throws {
        let reads = Set(try Self.reads().map(\.key))
        // Read by a computed name.
        let made =
            #/(upstream|services)\.\w+|limit\.(key|address|user)\.(rate|burst)|files\.quota\.\w+|symbols\.(demangler|symbolizer)/#
        for key in Set(SettingNames.byProcess.values.joined()).sorted() where try made.wholeMatch(in: key) == nil {
            #expect(reads.contains(key), "\(key)")
        }
    }
}
