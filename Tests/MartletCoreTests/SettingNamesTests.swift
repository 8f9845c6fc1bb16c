import Foundation
import MartletCore
import Testing

@Suite struct SettingNamesTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")
    private static let processes = [
        "Services/AuthService": "auth", "Services/StorageService": "storage", "Services/ConfigService": "config",
        "Services/AnalyticsService": "analytics", "Services/NotificationsService": "notifications",
        "Executables/gateway": "gateway",
    ]

    /// Folder below `Sources` and key of each setting that the code reads by a literal name.
    private static func reads() throws -> [(folder: String, key: String)] {
        let pattern = #/settings\.(?:\w+)\(\s*"([a-z][a-z0-9]*(?:\.[a-z0-9]+)+)"/#
        let names = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
        return try names.filter { $0.hasSuffix(".swift") }.flatMap { name in
            try String(contentsOf: sources.appending(path: name), encoding: .utf8).matches(of: pattern).map { (name, String($0.1)) }
        }
    }

    @Test func `every setting that the code reads is listed, with the process that reads it`() throws {
        let reads = try Self.reads()
        #expect(reads.count > 80)
        for (file, key) in reads {
            let process = Self.processes.first { file.hasPrefix($0.key + "/") }?.value
            let known = process.flatMap { SettingNames.byProcess[$0] } ?? Set(SettingNames.byProcess.values.joined())
            #expect(known.contains(key), "\(key), read in \(file)")
        }
    }

    @Test func `every setting that is listed is read`() throws {
        let reads = Set(try Self.reads().map(\.key))
        // Read by a name that is put together.
        let made = #/(upstream|services)\.\w+|limit\.(key|address)\.(rate|burst)/#
        for key in Set(SettingNames.byProcess.values.joined()).sorted() where try made.wholeMatch(in: key) == nil {
            #expect(reads.contains(key), "\(key)")
        }
    }
}
