import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AnalyticsService

/// Invalid calls about events and questions, in addition to those in each test.
@Suite struct EventRefusalTests {
    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let ofApps: [Refusal] = [
        .init("POST /events", "", .invalidJSON), .init("POST /events", "[]", .invalidBody),
        .init("POST /events", #"{"batch":7}"#, .invalidBody, "batch"),
        .init("POST /events", long((1 << 20) + 1), .payloadTooLarge),
        .init("POST /events", "{}", .invalidBody, headers: ["Content-Encoding": "gzip"]),
        .init("POST /events", "{}", .unsupportedMediaType, "Content-Encoding", headers: ["Content-Encoding": "lzma"]),
        .init("POST /thesis/events", "", .invalidJSON), .init("POST /thesis/events", "7", .invalidBody),
        .init("POST /thesis/events", #"{"type":"\#(long(2_000))"}"#, .invalidBody, "type"),
        .init("POST /thesis/events", long((1 << 20) + 1), .payloadTooLarge),
        .init("POST /thesis/exceptions", long((1 << 20) + 1), .payloadTooLarge),
        .init("POST /thesis/exceptions", "", .invalidJSON),
        .init("PUT /events/opt-out", nil, .invalidParameter, "anonymousId"),
        .init("DELETE /events/opt-out", nil, .invalidParameter, "anonymousId"),
        .init("GET /events/opt-out", nil, .invalidParameter, "anonymousId"),
        .init("PUT /events/opt-out?anonymousId=", nil, .invalidParameter, "anonymousId"),
        .init("PUT /events/opt-out?anonymousId=" + long(513), nil, .invalidParameter, "anonymousId"),
        .init("PUT /events/opt-out", nil, .invalidParameter, "anonymousId", headers: ["X-Device-Id": long(129)]),
        .init("PUT /events/opt-out?device=d1", nil, .invalidParameter, "device"),
        .init("POST /feedback?message=m", #"{"message":"m"}"#, .invalidParameter, "message"),
        .init("POST /feedback", "", .invalidJSON),
    ]

    static let ofManagers: [Refusal] = [
        .init("GET /thesis/events?limit=0", nil, .invalidParameter, "limit"),
        .init("GET /thesis/events?to=now", nil, .invalidParameter, "to"),
        .init("GET /thesis/events?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", nil, .invalidParameter, "from"),
        .init("GET /thesis/exceptions?skip=10001", nil, .invalidParameter, "skip"),
        .init("GET /thesis/exceptions?limit=0", nil, .invalidParameter, "limit"),
        .init("GET /analytics/settings?x=1", nil, .invalidParameter, "x"),
        .init("PUT /analytics/settings?x=1", "{}", .invalidParameter, "x"),
        .init("PUT /analytics/settings", "{", .invalidJSON), .init("PUT /analytics/settings", "[]", .invalidBody),
        .init("PUT /analytics/settings", #"{"retentionDays":"30"}"#, .invalidBody, "retentionDays"),
        .init("PUT /analytics/settings", #"{"retentionDays":1.5}"#, .invalidBody, "retentionDays"),
        .init("PUT /analytics/settings", #"{"retentionDays":30,"privacy":1}"#, .invalidBody, "privacy"),
        .init("PUT /analytics/settings", #"{"retentionDays":30,"timeZone":"UTC\u0000"}"#, .invalidBody),
        .init("PUT /analytics/settings", #"{"retentionDays":30,"timeZone":""}"#, .invalidBody, "timeZone"),
        .init("PUT /analytics/settings", #"{"timeZone":"\#(long(64 << 10))"}"#, .payloadTooLarge),
    ]

    static let questions: [Refusal] = [
        // Screens can be grouped only by screens and are counted with persons. Other combinations must be refused
        // instead of ignored.
        .init("GET /analytics/screens?group=os", nil, .invalidParameter, "group"),
        .init("GET /analytics/screens?property=a", nil, .invalidParameter, "property"),
        .init("GET /analytics/screens?people=false", nil, .invalidParameter, "people"),
        .init("GET /analytics/screens?limit=0", nil, .invalidParameter, "limit"),
        .init("GET /analytics/counts?event=" + long(1_001), nil, .invalidParameter, "event"),
        .init("GET /analytics/counts?event=%00", nil, .invalidParameter, "event"),
        .init("GET /analytics/counts?release=%00", nil, .invalidParameter, "release"),
        .init("GET /analytics/counts?variants=" + long(1_001), nil, .invalidParameter, "variants"),
        .init("GET /analytics/counts?where==x", nil, .invalidParameter, "where"),
        .init("GET /analytics/counts?where=a.b.c.d.e.f.g.h.i=x", nil, .invalidParameter, "where"),
        .init("GET /analytics/counts?group=property&property=a.b.c.d.e.f.g.h.i", nil, .invalidParameter, "property"),
        .init("GET /analytics/counts?to=2026-02-30&from=2026-02-01", nil, .invalidParameter, "to"),
        .init("GET /analytics/counts?timeZone=posixrules", nil, .invalidParameter, "timeZone"),
        .init("GET /analytics/counts?timeZone=EST5", nil, .invalidParameter, "timeZone"),
        .init("GET /analytics/events?from=2026-02-30T00:00:00Z", nil, .invalidParameter, "from"),
        .init("GET /analytics/events?to=2026-11-22T25:00:00Z", nil, .invalidParameter, "to"),
        .init("PUT /analytics/settings", "", .invalidJSON),
        .init("PUT /analytics/settings", #"{"timeZone":"posixrules"}"#, .invalidBody, "timeZone"),
        .init("PUT /analytics/settings", #"{"timezone":"UTC"}"#, .invalidBody, "timezone"),
        .init("PUT /analytics/settings", #"{"retentionDays":090}"#, .invalidJSON),
        .init("PUT /analytics/settings", #"{"retentionDays":90,"retentionDays":91}"#, .invalidBody),
        .init("PUT /analytics/settings", #"{"retentionDays":90,}"#, .invalidJSON),
        .init("GET /analytics/counts?from=", nil, .invalidParameter, "from"),
        .init("GET /analytics/counts?timeZone=", nil, .invalidParameter, "timeZone"),
        .init("GET /analytics/counts?timeZone=\(long(65))", nil, .invalidParameter, "timeZone"),
        .init("GET /analytics/people?interval=year", nil, .invalidParameter, "interval"),
        .init("GET /analytics/people?format=pdf", nil, .invalidParameter, "format"),
        .init("GET /analytics/people?event=a", nil, .invalidParameter, "event"),
        .init("GET /analytics/sessions?interval=", nil, .invalidParameter, "interval"),
        .init("GET /analytics/sessions?from=2024-01-01&to=2026-11-01", nil, .limitExceeded, "from"),
        .init("GET /analytics/retention?interval=hour", nil, .invalidParameter, "interval"),
        .init("GET /analytics/retention?interval=none", nil, .invalidParameter, "interval"),
        .init("GET /analytics/live?from=2026-11-01", nil, .invalidParameter, "from"),
        .init("GET /analytics/live?format=xml", nil, .invalidParameter, "format"),
        .init("GET /analytics/events?limit=1001", nil, .invalidParameter, "limit"),
        .init("GET /analytics/events?limit=x", nil, .invalidParameter, "limit"),
        .init("GET /analytics/events?from=2020-01-01T00:00:00Z", nil, .invalidParameter, "from"),
        .init("GET /analytics/events?event=%00", nil, .invalidParameter, "event"),
        .init("GET /analytics/events?after=7fffffffffffffff0000000000000001", nil, .invalidParameter, "after"),
        .init("GET /analytics/events?person=g123456789abcdef", nil, .invalidParameter, "person"),
        .init("POST /analytics/funnel", "", .invalidJSON), .init("POST /analytics/funnel", "{", .invalidJSON),
        .init("POST /analytics/funnel", "[]", .invalidBody),
        .init(
            "POST /analytics/funnel", #"{"steps":[\#((1...11).map { "\"\($0)\"" }.joined(separator: ","))]}"#,
            .invalidBody, "steps"),
        .init("POST /analytics/funnel", #"{"steps":["a","\#(long(1_001))"]}"#, .invalidBody, "steps"),
        .init("POST /analytics/funnel", #"{"steps":["a",1]}"#, .invalidBody, "steps"),
        .init("POST /analytics/funnel", #"{"steps":["a","b"],"windowSeconds":"60"}"#, .invalidBody, "windowSeconds"),
        .init("POST /analytics/funnel", #"{"steps":["a","\#(long(64 << 10))"]}"#, .payloadTooLarge),
        .init("POST /analytics/funnel?interval=day", #"{"steps":["a","b"]}"#, .invalidParameter, "interval"),
        .init("POST /analytics/funnel?timeZone=Mars/Olympus", #"{"steps":["a","b"]}"#, .invalidParameter, "timeZone"),
    ]

    static let requests: [Refusal] = [
        .init("GET /admin/requests?interval=year", nil, .invalidParameter, "interval"),
        .init("GET /admin/requests?format=xml", nil, .invalidParameter, "format"),
        .init("GET /admin/requests?from=x", nil, .invalidParameter, "from"),
        .init("GET /admin/requests?x=1", nil, .invalidParameter, "x"),
        .init("GET /admin/requests?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", nil, .invalidParameter, "from"),
        .init(
            "GET /admin/requests?interval=minute&from=2026-11-01T00:00:00Z&to=2026-11-03T00:00:00Z", nil,
            .invalidParameter, "from"),
    ]

    /// A question about an experiment with one member changed.
    private static func experiment(_ change: (inout ExperimentQuestion) -> Void) throws -> String {
        var question = ExperimentQuestion(
            appID: "app1", environment: .live, experiment: "e", variations: ["a", "b"], from: 1_777_593_600,
            to: 1_777_680_000,
            metrics: [.init(name: "m", kind: .mean, event: "buy", property: "price")])
        change(&question)
        return String(decoding: try JSONEncoder().encode(question), as: UTF8.self)
    }

    private static func experiments() throws -> [Refusal] {
        let metric = ExperimentQuestion.Metric(name: "m", kind: .mean, event: "buy", property: "price")
        let cases: [(String, (inout ExperimentQuestion) -> Void)] = [
            ("appID", { $0.appID = "" }), ("appID", { $0.appID = long(33) }), ("experiment", { $0.experiment = "" }),
            ("variations", { $0.variations = [] }),
            ("variations", { $0.variations = (0..<21).map(String.init) }),
            ("variations", { $0.variations = [long(1_001)] }), ("from", { $0.from = -1 }),
            ("to", { $0.to = $0.from + 801 * 86_400 }),
            ("metrics", { $0.metrics = Array(repeating: metric, count: 21) }),
            ("metrics", { $0.metrics[0].event = "" }),
            ("metrics", { $0.metrics[0].property = "" }), ("metrics", { $0.metrics[0].covariateDays = 91 }),
        ]
        return try cases.map {
            Refusal("POST /internal/analytics/experiments", try experiment($0.1), .invalidBody, $0.0)
        } + [
            Refusal("POST /internal/analytics/experiments", "{}", .invalidBody),
            Refusal("POST /internal/analytics/experiments", "", .invalidJSON),
            Refusal("POST /internal/analytics/experiments", long((64 << 10) + 1), .payloadTooLarge),
            Refusal("POST /internal/requests", "{}", .invalidBody),
            Refusal("POST /internal/requests", "[", .invalidJSON),
            Refusal(
                "POST /internal/requests",
                #"{"gateway":"0193a000-0000-7000-8000-000000000001","minute":"2026-02-30T00:00:00Z","counts":[]}"#,
                .invalidBody, "minute"),
            Refusal(
                "POST /internal/requests",
                #"{"gateway":"0193a000-0000-7000-8000-000000000001","minute":"2026-11-22T00:00:00Z","counts":[],"count":1}"#,
                .invalidBody, "count"),
        ]
    }

    @Test func `invalid events and questions are refused by field, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            try await app.expect(Self.ofApps, as: app.principal(.client))
            try await app.expect(Self.ofManagers + Self.questions, as: app.principal(.master))
            let rights = StaffRights([StaffRights.everyApp: [.status: [.read]]])
            try await app.expect(
                Self.requests,
                as: app.principal(
                    .staff,
                    staff: StaffGrant(
                        id: Colleague.ada.id, userName: "ada", rights: rights,
                        confirmed: Int64(Date().timeIntervalSince1970))))
            try await app.expect(try Self.experiments(), as: .service("config"))
        }
    }
}
