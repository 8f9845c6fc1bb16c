import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsService

/// A call that is refused, and the reason.
struct Refusal: Sendable, CustomTestStringConvertible {
    var call: String
    var body: String?
    var code: ErrorCode
    var field: String?
    var headers: [String: String]

    init(
        _ call: String, _ body: String? = nil, _ code: ErrorCode, _ field: String? = nil,
        headers: [String: String] = ["if-match": "*"]
    ) {
        (self.call, self.body, self.code, self.field, self.headers) = (call, body, code, field, headers)
    }

    var testDescription: String { "\(call) \((body ?? "").prefix(200))" }
}

extension AnalyticsApp {
    /// Expects each call to be refused for its reason without writing anything.
    func expect(_ refusals: [Refusal], as principal: Principal) async throws {
        let before = try await fingerprint()
        for refusal in refusals {
            let parts = refusal.call.split(separator: " ", maxSplits: 1).map(String.init)
            let answer = try await gateway.acting(as: principal).send(
                parts[0], parts[1], refusal.body, headers: refusal.headers)
            let isRefused =
                parts[1].hasPrefix("/crash/api/0/")
                ? answer.isSentryRefusal(refusal.code, field: refusal.field)
                : answer.isProblem(refusal.code, field: refusal.field)
            #expect(isRefused, "\(refusal.testDescription): \(answer)")
            #expect(try await fingerprint() == before, "\(refusal.testDescription) wrote something")
        }
    }

    /// Tables that the service writes by itself: progress of background tasks, and names of staff.
    private static let own = [
        "batch", "block_reach", "crash_quotas", "crash_spools", "rollups", "salts", "spaces", "ticket_people",
    ]

    /// Digests of every table and the state of the spool, to show that nothing was written.
    func fingerprint() async throws -> [String: String] {
        let rows = try await database.withSuperuser { database in
            try await database.query(
                """
                SELECT c.relname::text, query_to_xml(
                    format('SELECT md5(coalesce(string_agg(x::text, ''|'' ORDER BY x::text), '''')) AS d FROM analytics.%I AS x', c.relname), FALSE, TRUE, '')::text
                FROM pg_class AS c WHERE c.relnamespace = 'analytics'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                    AND c.relname <> ALL (\(Self.own))
                """)
        }
        var digests = ["the spool": isSpoolEmpty ? "empty" : "full"]
        for row in rows { digests[try row.decode(0)] = try row.decode(1, as: String.self) }
        return digests
    }
}
