import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    /// Processes are killed under load: no acknowledged write is lost, errors are clean, and everything recovers by
    /// itself.
    @Suite(.localServer)
    struct RestartTests {
        static let writers = 16

        struct Drill: Sendable, CustomTestStringConvertible {
            var process: String
            var signal: Int32 = SIGKILL
            /// Whether clients may see 502, 503 or 504.
            var mayFail = false
            /// Whether clients may see their connection refused or broken.
            var mayBreak = false

            var testDescription: String {
                "\(process) by " + (signal == SIGKILL ? "SIGKILL" : signal == SIGINT ? "SIGINT" : "SIGTERM")
            }
        }

        static let drills = [
            Drill(process: "gateway", mayBreak: true),
            Drill(process: "gateway", signal: SIGTERM, mayBreak: true),
            Drill(process: "storage", mayFail: true),
            Drill(process: "storage", signal: SIGTERM, mayFail: true),
            Drill(process: "auth"),
            Drill(process: "config"),
            Drill(process: "analytics"),
            Drill(process: "notifications"),
            Drill(process: "postgres", mayFail: true),
            Drill(process: "postgres", signal: SIGINT, mayFail: true),
        ]

        @Test(arguments: drills)
        func `killing a process twice under load loses no acknowledged write`(_ drill: Drill) async throws {
            let server = try LocalServer.current
            let client = Client(server.connection)
            let collection = "Drill-\(drill.process)-\(drill.signal)"
            let results = LoadResults()
            try await Load.run(Self.writers) { number, round in
                await results.write(to: collection, as: client, number: number, round: round)
            } during: {
                for _ in 0..<2 {
                    try await Task.sleep(for: .seconds(1))
                    try await server.restart(drill.process, by: drill.signal)
                }
                try await Task.sleep(for: .seconds(1))
            }
            let entries = results.entries
            print("drill \(drill.testDescription): \(entries)")
            #expect(entries.unclean == [])
            #expect(drill.mayFail || entries.problems == [:])
            #expect(drill.mayBreak || entries.broken == [:])

            // Check all connections: each event loop of the gateway has its own breaker, which may still be pausing
            // after this drill.
            try await eventually("every connection is served") {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<2 * Self.writers {
                        group.addTask { try await client.get("storage/\(collection)?limit=1").status }
                    }
                    return try await group.allSatisfy { $0 == 200 }
                }
            }
            let stored = try await client.allIDs(of: collection)
            #expect(stored.count == Set(stored).count, "each once")
            #expect(Set(stored) == entries.acknowledged)
            try await eventually("every process is ready") { await server.isEverythingReady() }
        }
    }
}
