import Foundation
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

extension IntegrationTests {
    /// Crash reports through the gateway, from a third-party client library, while the processes that store them die.
    @Suite struct CrashTests {
        private static var hasPython: Bool {
            ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"]?.isEmpty == false
        }

        private func sentryClient(_ act: String, _ server: LocalServer) async throws -> [String: Any] {
            let python = try #require(ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"])
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
                path: "Support/sentry_client.py")
            let (output, errors) = (
                server.folder.appending(path: "sentry-\(act).out"), server.folder.appending(path: "sentry-\(act).err")
            )
            let program = try RunningProgram.start(
                [python, script.path, server.connection.sentryDSN, act], environment: ["PATH": "/usr/bin:/bin"],
                output: output, errors: errors)
            let status = try await program.exitStatus(limit: .seconds(120))
            let complaints = try String(contentsOf: errors, encoding: .utf8).suffix(4_000)
            #expect(status == 0, "\(complaints)")
            return try JSONSerialization.jsonObject(with: Data(contentsOf: output)) as? [String: Any] ?? [:]
        }

        private func texts(_ server: LocalServer, _ sql: String) async throws -> [String] {
            try await server.withDatabase { try await $0.query(PostgresQuery(unescaped: sql)).map { try $0.decode(0) } }
        }

        @Test(.enabled(if: hasPython))
        func `an unmodified sentry-sdk reports crashes, messages and sessions, and respects rate limits`() async throws
        {
            try await LocalServer.with(environment: ["MARTLET_ANALYTICS_CRASHES_QUOTA_ERRORS": "25"]) { server in
                let sent = try await sentryClient("report", server)
                let crashes = try #require(sent["crashes"] as? [String])
                try await eventually("everything sent is stored") {
                    let events = try await texts(server, "SELECT count(*)::text FROM analytics.crash_events")
                    let sessions = try await texts(
                        server, "SELECT coalesce(sum(sessions), 0)::text FROM analytics.crash_sessions")
                    return events == ["4"] && sessions == ["2"]
                }
                #expect(
                    try await texts(
                        server,
                        "SELECT title || '|' || kind || '|' || events || '|' || users FROM analytics.issues ORDER BY number"
                    )
                        == [
                            "ZeroDivisionError: division by zero|error|2|1",
                            "order 17 of ann@example.com failed|message|1|1", "anything|message|1|1",
                        ])
                let id = crashes[0]
                #expect(
                    try await texts(
                        server,
                        "SELECT configuration || '|' || variants || '|' || stage || '|' || r.name FROM analytics.crash_events e JOIN analytics.releases r ON r.id = e.release WHERE replace(event_id::text, '-', '') = '\(id)'"
                    )
                        == ["12|checkout=dark|it|shop@1.2.0+3"])
                let content = try await texts(
                    server,
                    "SELECT content::text FROM analytics.crash_events WHERE replace(event_id::text, '-', '') = '\(id)'"
                ).joined()
                #expect(
                    content.contains("return 1 / (number - number)") && !content.contains("not to be kept")
                        && !content.contains("ip_address"))
                #expect(
                    try await texts(server, "SELECT name || '|' || size FROM analytics.crash_attachments") == [
                        "hello.txt|5"
                    ])
                #expect(
                    try await texts(server, "SELECT sessions || '|' || crashed FROM analytics.crash_sessions") == [
                        "2|1"
                    ])
                #expect(
                    try await texts(
                        server,
                        "SELECT count(*) || '|' || count(*) FILTER (WHERE crashed) FROM analytics.crash_session_users")
                        == ["2|1"])

                // Copies exchange their counts each second, so none limits 60 messages at once by the next one's count.
                guard Copies.count == 1 else { return }
                let taken = try #require(try await sentryClient("flood", server)["taken"] as? Int)
                try await eventually("every accepted event is stored") {
                    try await texts(
                        server, "SELECT count(*)::text FROM analytics.crash_events WHERE message LIKE 'flood%'") == [
                            "\(taken)"
                        ]
                }
                try await eventually("what the client dropped is counted") {
                    try await texts(
                        server,
                        "SELECT (sum(quantity) > 0)::text FROM analytics.crash_outcomes WHERE source = 'client' AND category = 'error'"
                    ) == ["true"]
                }
            }
        }

        @Test func `whatever is killed while reports arrive, each acknowledged one is stored exactly once`()
            async throws
        {
            let kills = ProcessInfo.processInfo.environment["MARTLET_TEST_KILLS"].flatMap { Int($0) } ?? 4
            try await LocalServer.with(environment: ["MARTLET_ANALYTICS_CRASHES_QUOTA_ERRORS": "1000000"]) { server in
                let url = server.connection.url + "/crash/api/1/envelope/"
                let acknowledged = Mutex<[String]>([])
                let unclean = Mutex<Set<Int>>([])
                try await Load.run(8) { _, _ in
                    let id = UUID().uuidString.lowercased().replacing("-", with: "")
                    let body =
                        "{\"event_id\":\"\(id)\"}\n{\"type\":\"event\"}\n{\"message\":\"drill\",\"tags\":{\"k\":\"v\"}}\n"
                    let headers = [
                        "X-Sentry-Auth": "Sentry sentry_version=7, sentry_key=\(server.connection.ingestKey)"
                    ]
                    // A missing response counts like a refusal, because clients of this kind then keep their reports.
                    guard let reply = try? await Client.send("POST", url, headers: headers, body) else {
                        try? await Task.sleep(for: .milliseconds(20))
                        return
                    }
                    if reply.status == 200 {
                        acknowledged.withLock { $0.append(id) }
                    } else if reply.status != 429 {
                        _ = unclean.withLock { $0.insert(reply.status) }
                    }
                } during: {
                    for number in 0..<kills {
                        try await Task.sleep(for: .milliseconds(Int.random(in: 300...1_200)))
                        try await server.restart(number % 2 == 0 ? "analytics" : "postgres")
                    }
                    try await Task.sleep(for: .milliseconds(500))
                    try await eventually("reports are acknowledged") { acknowledged.withLock { $0.count } > 100 }
                }
                let ids = acknowledged.withLock { $0 }
                print("drill: \(kills) kills, \(ids.count) acknowledged")
                let others = unclean.withLock { $0 }
                #expect(ids.count > 100 && others == [])
                try await eventually("everything sent is stored", within: .seconds(120)) {
                    let stored = Set(
                        try await texts(server, "SELECT replace(event_id::text, '-', '') FROM analytics.crash_events"))
                    return Set(ids).isSubset(of: stored)
                }
                // The counts match what is stored, whatever was digested twice.
                try await eventually("the counts agree") {
                    try await texts(
                        server,
                        """
                        SELECT ((SELECT count(*) FROM analytics.crash_events) = (SELECT sum(events) FROM analytics.issues)
                            AND (SELECT count(*) FROM analytics.crash_events) = (SELECT sum(events) FROM analytics.issue_days)
                            AND (SELECT count(*) FROM analytics.crash_events) = (SELECT sum(events) FROM analytics.issue_tags WHERE key = 'k'))::text
                        """) == ["true"]
                }
                #expect(try await texts(server, "SELECT count(*)::text FROM analytics.issues") == ["1"])
            }
        }
    }
}
