import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

extension IntegrationTests {
    /// Events, through the gateway.
    @Suite(.localServer)
    struct EventTests {
        static let writers = 8
        static let eventsPerBatch = 10
        /// The full drill uses 20.
        static let kills = ProcessInfo.processInfo.environment["MARTLET_KILLS"].flatMap { Int($0) } ?? 4

        let server: LocalServer

        init() throws {
            server = try .current
        }

        @Test(.enabled(if: ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"]?.isEmpty == false))
        func `segment-analytics-python and rudder-sdk-python work unmodified`() async throws {
            let python = try #require(ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"])
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
                path: "Support/segment_clients.py")
            let program = try RunningProgram.start(
                [python, script.path, server.connection.url + "/segment", server.connection.ingestKey],
                environment: ["PATH": "/usr/bin:/bin"],
                output: server.folder.appending(path: "segment.out"),
                errors: server.folder.appending(path: "segment.err"))
            let status = try await program.exitStatus(limit: .seconds(120))
            let errors = try String(contentsOf: server.folder.appending(path: "segment.err"), encoding: .utf8)
            try #require(status == 0, "\(errors.suffix(8_000))")

            let stored = try await server.withDatabase { database in
                try await database.query(
                    """
                    SELECT concat_ws(' ', e.properties ->> 'client', e.kind, t.text), count(*), bool_and(abs(extract(epoch FROM e.received - e.at)) < 60)
                    FROM analytics.events AS e LEFT JOIN analytics.terms AS t ON t.id = e.name
                    WHERE e.properties ? 'client' OR e.properties ? 'groupId' OR e.kind IN (4, 6) GROUP BY 1
                    """
                ).map { row in
                    "\(try row.decode(0, as: String.self)): \(try row.decode(1, as: Int.self)) \(try row.decode(2, as: Bool.self))"
                }
            }
            #expect(
                Set(stored) == [
                    "segment 1 Bought: 250 true", "segment 2 Home: 1 true", "segment 3 Start: 1 true",
                    "rudder 1 Bought: 250 true", "rudder 2 Home: 1 true",
                    "rudder 3 Start: 1 true", "4: 2 true", "5: 2 true", "6: 2 true",
                ])
            let traits = try await server.withDatabase { database in
                try await database.query(
                    "SELECT traits ->> 'name' FROM analytics.people WHERE traits <> '{}' ORDER BY 1"
                ).map { try $0.decode(0, as: String.self) }
            }
            #expect(traits == ["Ann", "Bob"])
        }

        @Test
        func `an ingest key is required, events of its app are stored, and apps on devices have a route of their own`()
            async throws
        {
            let body = #"{"batch":[{"type":"track","event":"Door","userId":"u1"}]}"#
            func post(_ key: String) async throws -> Reply {
                try await Client.send(
                    "POST", server.connection.url + "/segment/v1/batch", headers: Self.headers(key), body)
            }
            for key in [
                "", "mi_live_wrong", server.connection.masterKey, server.connection.appKey,
                server.connection.evaluationKey,
            ] {
                #expect(try await post(key).isProblem(.unauthorized))
            }
            #expect(try await post(server.connection.ingestKey)["accepted"] == "1")
            let settings = try await Client.send(
                "GET", "\(server.connection.url)/segment/v1/projects/\(server.connection.ingestKey)/settings")
            #expect(settings.status == 200 && settings["plan"] != nil, "\(settings)")
            #expect(settings.text.contains(#""apiKey":"\#(server.connection.ingestKey)""#), "\(settings)")
            // Like mobile clients and browsers: only the key in the address counts.
            func post(by key: String, _ path: String, _ body: String) async throws -> Reply {
                try await Client.send(
                    "POST", "\(server.connection.url)/segment/v1/projects/\(key)/\(path)",
                    headers: ["Content-Type": "text/plain"], body)
            }
            #expect(try await post(by: server.connection.ingestKey, "b", body)["accepted"] == "1")
            #expect(
                try await post(by: server.connection.ingestKey, "t", #"{"event":"Door","userId":"u1","writeKey":"x"}"#)[
                    "accepted"] == "1")
            for key in ["mi_live_wrong", server.connection.masterKey, server.connection.appKey] {
                #expect(try await post(by: key, "b", body).isProblem(.unauthorized))
            }
            let read = try await Client.send(
                "GET", "\(server.connection.url)/segment/v1/projects/\(server.connection.ingestKey)/b")
            #expect(read.status == 405 && read.header("allow") == "POST", "\(read)")
            let client = Client(server.connection)
            #expect(try await client.post("events", body)["accepted"] == "1")
            #expect(try await client.post("storage/TBAnalytics", #"{"type":"Door"}"#).status == 201)
            #expect(try await client.get("storage/TBAnalytics").isProblem(.forbidden))
            #expect(try await client.send("PUT", "events/opt-out?anonymousId=d9")["isOptedOut"] == "true")
            let master = Client.master(server.connection)
            #expect(try await master.get("storage/TBAnalytics?limit=3")["count"] == "3")
            #expect(try await master.get("analytics/settings")["privacy"] == #""standard""#)
        }

        @Test func `killing analytics and PostgreSQL loses no acknowledged event and duplicates none`()
            async throws
        {
            let results = LoadResults()
            try await Load.run(Self.writers) { writer, round in
                await send(writer, round, results)
            } during: {
                for number in 0..<Self.kills {
                    try await Task.sleep(for: .milliseconds(700))
                    try await server.restart(number % 2 == 0 ? "analytics" : "postgres")
                }
                try await Task.sleep(for: .milliseconds(700))
                try await eventually("events are acknowledged") { results.entries.acknowledged.count > 10 }
            }
            let entries = results.entries
            print("events: \(Self.kills) kills, \(entries)")
            #expect(entries.unclean == [])
            #expect(entries.acknowledged.count > 10)
            try await eventually("the database answers") {
                (try? await server.withDatabase { try await $0.execute("SELECT 1") }) != nil
            }
            let (batches, doubled) = try await server.withDatabase { database in
                let rows = try await database.query(
                    """
                    SELECT properties ->> 'batch', count(*), count(*) - count(DISTINCT properties ->> 'number') FROM analytics.events
                    WHERE properties ? 'batch' GROUP BY 1
                    """)
                return (
                    Dictionary(
                        uniqueKeysWithValues: try rows.map {
                            (try $0.decode(0, as: String.self), try $0.decode(1, as: Int.self))
                        }),
                    try rows.reduce(0) { $0 + (try $1.decode(2, as: Int.self)) }
                )
            }
            #expect(doubled == 0)
            #expect(
                entries.acknowledged.allSatisfy { batches[$0] == Self.eventsPerBatch },
                "every acknowledged event is there")
        }

        /// Sends a batch until it is acknowledged, like Segment's clients.
        private func send(_ writer: Int, _ round: Int, _ results: LoadResults) async {
            let id = "\(writer)-\(round)"
            let messages = (0..<Self.eventsPerBatch).map {
                #"{"type":"track","event":"Drill","userId":"u\#(writer)","messageId":"\#(id)-\#($0)","timestamp":"\#(Date().ISO8601Format())","properties":{"batch":"\#(id)","number":\#($0)}}"#
            }
            let body = #"{"batch":[\#(messages.joined(separator: ","))]}"#
            for _ in 0..<400 {
                let isStored = await results.record(id) {
                    try await Client.send(
                        "POST", server.connection.url + "/segment/v1/batch",
                        headers: Self.headers(server.connection.ingestKey), body)
                }
                if isStored { return }
                try? await Task.sleep(for: .milliseconds(50))
            }
        }

        private static func headers(_ key: String) -> [String: String] {
            [
                "Authorization": "Basic " + Data("\(key):".utf8).base64EncodedString(),
                "Content-Type": "application/json",
            ]
        }
    }
}
