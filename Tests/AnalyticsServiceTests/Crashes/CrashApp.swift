import Foundation
import MartletCompression
import MartletCore
import MartletPostgres
import MartletSentry
import MartletTesting
import NIOCore

@testable import AnalyticsCrashes
@testable import AnalyticsService

extension AnalyticsApp {
    /// Posts an envelope as Sentry's clients do.
    func post(_ bytes: [UInt8], headers: [String: String] = [:]) async throws -> Answer {
        try await gateway.acting(as: principal(.ingest)).send(
            "POST", "/crash/api/1/envelope/", bytes: bytes, headers: headers)
    }

    func envelope(_ items: [(type: String, payload: String)], header: String = "{}", headers: [String: String] = [:])
        async throws -> Answer
    {
        try await post(TestEnvelope.bytes(items, header: header), headers: headers)
    }

    /// Posts an event; returns its id.
    @discardableResult
    func report(_ event: String) async throws -> String {
        let answer = try await envelope([("event", event)])
        return answer["id"]?.trimmingCharacters(in: CharacterSet(charactersIn: "\"")) ?? "\(answer)"
    }

    /// Whether no report has been accepted yet.
    var isSpoolEmpty: Bool { if case nil = service.crashes.digester.writer.written { true } else { false } }

    /// Waits until everything accepted so far is stored.
    func digested() async throws {
        try await service.crashes.intake.reportDropped()
        try await eventually("all reports are digested") {
            guard let (folder, end) = service.crashes.digester.writer.written else { return true }
            return try await service.crashes.digester.store.position(of: folder.id) >= end
        }
    }

    /// The rows of a query in this app's space, as text with `|` between columns. `%` in the query stands for the
    /// space.
    func rows(_ sql: String) async throws -> [String] {
        try await digested()
        let space = try await service.spaces.space(of: appID, environment)
        let sql =
            "SELECT concat_ws('|', VARIADIC r.r) FROM (SELECT ARRAY(SELECT value FROM json_each_text(row_to_json(q))) AS r FROM (\(sql.replacing("%", with: "\(space.id)"))) AS q) AS r"
        return try await postgres.query(PostgresQuery(unescaped: sql)).map { try $0.decode(0) }
    }
}

enum TestEnvelope {
    static func bytes(_ items: [(type: String, payload: String)], header: String = "{}") -> [UInt8] {
        Array(
            (header + "\n"
                + items.map { "{\"type\":\"\($0.type)\",\"length\":\($0.payload.utf8.count)}\n\($0.payload)\n" }
                .joined()).utf8)
    }

    /// A crash report at a place in the code.
    static func crash(
        in function: String, release: String? = nil, user: String? = nil, id: String? = nil, tags: String = "{}",
        timestamp: String? = nil
    ) -> String {
        let frames =
            #"[{"function":"main","in_app":true,"instruction_addr":"0x1"},{"function":"\#(function)","in_app":true,"instruction_addr":"0x2"}]"#
        let fields = [
            release.map { #""release":"\#($0)""# }, user.map { #""user":{"id":"\#($0)","ip_address":"{{auto}}"}"# },
            id.map { #""event_id":"\#($0)""# },
            timestamp.map { #""timestamp":"\#($0)""# },
        ]
        return
            #"{"platform":"cocoa","tags":\#(tags),\#(fields.compactMap(\.self).map { $0 + "," }.joined())"exception":{"values":[{"type":"EXC_BAD_ACCESS","value":"at 0x10","mechanism":{"handled":false},"stacktrace":{"frames":\#(frames)}}]}}"#
    }
}
