import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService

@Suite struct TicketRefusalTests {
    private static let long = String(repeating: "x", count: 201)

    static let refusals: [Refusal] = [
        .init("POST /tickets", "{", .invalidJSON), .init("POST /tickets", "[]", .invalidBody),
        .init("POST /tickets", "{}", .invalidBody, "title"),
        .init("POST /tickets", #"{"title":"  "}"#, .invalidBody, "title"),
        .init("POST /tickets", #"{"title":"\#(long)"}"#, .invalidBody, "title"),
        .init("POST /tickets", #"{"title":"a\u0000b"}"#, .invalidBody),
        .init("POST /tickets/1/restore", #"{"x":1}"#, .invalidBody, "x"),
        .init("POST /tickets/sprints/1/start", #"{"x":1}"#, .invalidBody, "x"),
        .init("POST /tickets", #"{"titel":"a"}"#, .invalidBody, "titel"),
        .init("POST /tickets", #"{"title":"a\nb"}"#, .invalidBody, "title"),
        .init("POST /tickets", #"{"title":7}"#, .invalidBody, "title"),
        .init("POST /tickets", #"{"title":"t","name":"x"}"#, .invalidBody, "name"),
        .init("POST /tickets", #"{"title":"t","status":"done"}"#, .invalidBody, "status"),
        .init("POST /tickets", #"{"title":"t","status":null}"#, .invalidBody, "status"),
        .init("POST /tickets", #"{"title":"t","type":"epic"}"#, .invalidBody, "type"),
        .init("POST /tickets", #"{"title":"t","priority":1}"#, .invalidBody, "priority"),
        .init("POST /tickets", #"{"title":"t","assignee":"bob"}"#, .invalidBody, "assignee"),
        .init("POST /tickets", #"{"title":"t","sprint":99}"#, .invalidBody, "sprint"),
        .init("POST /tickets", #"{"title":"t","sprint":"1"}"#, .invalidBody, "sprint"),
        .init("POST /tickets", #"{"title":"t","labels":["nope"]}"#, .invalidBody, "labels"),
        .init("POST /tickets", #"{"title":"t","labels":["ui","UI"]}"#, .invalidBody, "labels"),
        .init("POST /tickets", #"{"title":"t","issues":[1,99]}"#, .invalidBody, "issues"),
        .init("POST /tickets", #"{"title":"t","issues":[1,1]}"#, .invalidBody, "issues"),
        .init("POST /tickets", #"{"title":"t","appVersion":"\#(long)"}"#, .invalidBody, "appVersion"),
        .init("POST /tickets", #"{"title":"t","description":"\u0007"}"#, .invalidBody, "description"),
        .init("POST /tickets?x=1", #"{"title":"t"}"#, .invalidParameter, "x"),
        .init("PATCH /tickets/1", #"{"title":"t"}"#, .preconditionRequired, headers: [:]),
        .init("PATCH /tickets/1", #"{"title":"t"}"#, .preconditionFailed, headers: ["if-match": "\"7\""]),
        .init("PATCH /tickets/1", #"{"title":"t"}"#, .invalidParameter, "If-Match", headers: ["if-match": "7"]),
        .init("PATCH /tickets/1", #"{"title":null}"#, .invalidBody, "title"),
        .init("PATCH /tickets/1", #"{"position":"a0"}"#, .invalidBody, "position"),
        .init("PATCH /tickets/1", #"{"resolveIssues":true}"#, .invalidBody, "resolveIssues"),
        .init("POST /tickets/update", #"{"status":"todo"}"#, .invalidBody, "tickets"),
        .init("POST /tickets/update", #"{"tickets":[1]}"#, .invalidBody),
        .init("POST /tickets/update", #"{"tickets":[1],"title":"t"}"#, .invalidBody, "title"),
        .init("POST /tickets/update", #"{"tickets":[1,9],"priority":"low"}"#, .invalidBody, "tickets"),
        .init(
            "POST /tickets/update", #"{"tickets":[2,1],"status":"onHold","resolveIssues":true}"#, .invalidBody,
            "resolveIssues"),
        .init("POST /tickets/update", #"{"tickets":[1,2],"labels":["nope"]}"#, .invalidBody, "labels"),
        .init(
            "POST /tickets/update",
            #"{"tickets":[\#((1...101).map(String.init).joined(separator: ","))],"priority":"low"}"#, .invalidBody,
            "tickets"),
        .init("PATCH /tickets/9", #"{"title":"t"}"#, .ticketNotFound), .init("GET /tickets/x", nil, .ticketNotFound),
        .init("GET /tickets/0", nil, .ticketNotFound),
        .init("GET /tickets/99999999999", nil, .ticketNotFound), .init("DELETE /tickets/9", nil, .ticketNotFound),
        .init("DELETE /tickets/1", nil, .preconditionFailed, headers: ["if-match": "\"7\""]),
        .init("POST /tickets/1/restore", nil, .ticketNotFound),
        .init("POST /tickets/9/move", #"{"status":"complete"}"#, .ticketNotFound),
        .init("POST /tickets/1/move", #"{"after":9}"#, .invalidBody, "after"),
        .init("POST /tickets/1/move", #"{"before":1}"#, .invalidBody, "before"),
        .init("POST /tickets/1/move", #"{"end":"middle"}"#, .invalidBody, "end"),
        .init("POST /tickets/1/move", #"{"status":"nowhere"}"#, .invalidBody, "status"),
        .init("POST /tickets/1/move", #"{"end":"top"}"#, .preconditionFailed, headers: ["if-match": "\"7\""]),
        .init("POST /tickets/1/comments", "{}", .invalidBody, "text"),
        .init("POST /tickets/1/comments", #"{"text":" \n"}"#, .invalidBody, "text"),
        .init("POST /tickets/9/comments", #"{"text":"t"}"#, .ticketNotFound),
        .init("GET /tickets/9/comments", nil, .ticketNotFound),
        .init("PATCH /tickets/1/comments/9", #"{"text":"t"}"#, .commentNotFound),
        .init("DELETE /tickets/1/comments/x", nil, .commentNotFound),
        .init("PATCH /tickets/1/comments/1", #"{"text":""}"#, .invalidBody, "text"),
        .init("GET /tickets/9/history", nil, .ticketNotFound),
        .init("POST /tickets/1/attachments", "x", .invalidParameter, "name"),
        .init("POST /tickets/1/attachments?name=a%2Fb", "x", .invalidParameter, "name"),
        .init("POST /tickets/1/attachments?name=a%0Ab", "x", .invalidParameter, "name"),
        .init("POST /tickets/9/attachments?name=a", "x", .ticketNotFound),
        .init("GET /tickets/1/attachments/9", nil, .fileNotFound),
        .init("DELETE /tickets/1/attachments/9", nil, .fileNotFound),
        .init("POST /tickets/1/issues", "{}", .invalidBody, "issues"),
        .init("POST /tickets/1/issues", #"{"issues":[2,99]}"#, .invalidBody, "issues"),
        .init("DELETE /tickets/1/issues/2", nil, .notFound), .init("DELETE /tickets/1/issues/x", nil, .notFound),
        .init("POST /tickets/1/links", #"{"kind":"hates","ticket":2}"#, .invalidBody, "kind"),
        .init("POST /tickets/1/links", #"{"ticket":2}"#, .invalidBody, "kind"),
        .init("POST /tickets/1/links", #"{"kind":"blocks"}"#, .invalidBody, "ticket"),
        .init("POST /tickets/1/links", #"{"kind":"blocks","ticket":9}"#, .invalidBody, "ticket"),
        .init("POST /tickets/1/links", #"{"kind":"relates","ticket":1}"#, .invalidBody, "ticket"),
        .init("POST /tickets/2/links", #"{"kind":"blocks","ticket":1}"#, .conflict),
        .init("DELETE /tickets/1/links/relates/2", nil, .notFound),
        .init("DELETE /tickets/1/links/hates/2", nil, .notFound),
        .init("POST /tickets/sprints", "{}", .invalidBody, "name"),
        .init("POST /tickets/sprints", #"{"name":"s","starts":"2026-02-30"}"#, .invalidBody, "starts"),
        .init(
            "POST /tickets/sprints", #"{"name":"s","starts":"2026-02-03","ends":"2026-02-02"}"#, .invalidBody, "ends"),
        .init("POST /tickets/sprints", #"{"name":"s","starts":"03.02.2026"}"#, .invalidBody, "starts"),
        .init("PATCH /tickets/sprints/1", #"{"name":null}"#, .invalidBody, "name"),
        .init("PATCH /tickets/sprints/9", #"{"name":"s"}"#, .sprintNotFound),
        .init("PATCH /tickets/sprints/1", #"{"name":"s"}"#, .preconditionFailed, headers: ["if-match": "\"7\""]),
        .init("PATCH /tickets/sprints/2", #"{"starts":"2026-12-01","ends":"2026-11-01"}"#, .invalidBody, "ends"),
        .init("POST /tickets/sprints/1/start", nil, .conflict), .init("POST /tickets/sprints/2/start", nil, .conflict),
        .init("POST /tickets/sprints/2/close", nil, .conflict),
        .init("POST /tickets/sprints/9/close", nil, .sprintNotFound),
        .init("POST /tickets/sprints/1/close", #"{"unfinishedTo":1}"#, .invalidBody, "unfinishedTo"),
        .init("POST /tickets/sprints/1/close", #"{"unfinishedTo":9}"#, .invalidBody, "unfinishedTo"),
        .init("GET /tickets/sprints/2/report", nil, .conflict),
        .init("GET /tickets/sprints/9/report", nil, .sprintNotFound),
        .init("POST /tickets", #"{"title":"t","estimate":1001}"#, .invalidBody, "estimate"),
        .init("PATCH /tickets/1", #"{"estimate":-1}"#, .invalidBody, "estimate"),
        .init("PATCH /tickets/1", #"{"estimate":1.5}"#, .invalidBody, "estimate"),
        .init("DELETE /tickets/sprints/1", nil, .conflict), .init("GET /tickets/sprints/x", nil, .sprintNotFound),
        .init("POST /tickets/labels", #"{"name":"UI"}"#, .conflict),
        .init("POST /tickets/labels", #"{"name":"a,b"}"#, .invalidBody, "name"),
        .init("POST /tickets/labels", #"{"name":"b","color":"red"}"#, .invalidBody, "color"),
        .init("PATCH /tickets/labels/nope", "{}", .labelNotFound),
        .init("PATCH /tickets/labels/core", #"{"name":"ui"}"#, .conflict),
        .init("DELETE /tickets/labels/nope", nil, .labelNotFound),
        .init("PATCH /tickets/settings", #"{"prefix":"shop"}"#, .invalidBody, "prefix"),
        .init("PATCH /tickets/settings", "{}", .invalidBody, "prefix"),
        .init("GET /tickets?status=open", nil, .invalidParameter, "status"),
        .init("GET /tickets?sort=title", nil, .invalidParameter, "sort"),
        .init("GET /tickets?cursor=x", nil, .invalidParameter, "cursor"),
        .init("GET /tickets?limit=501", nil, .invalidParameter, "limit"),
        .init("GET /tickets?assignee=bob", nil, .invalidParameter, "assignee"),
        .init("GET /tickets?sprint=x", nil, .invalidParameter, "sprint"),
        .init("GET /tickets?issue=x", nil, .invalidParameter, "issue"),
        .init("GET /tickets?search=", nil, .invalidParameter, "search"),
        .init("GET /tickets?search=a%00", nil, .invalidParameter, "search"),
        .init("GET /tickets?label=a%00", nil, .invalidParameter, "label"),
        .init("GET /tickets?updatedAfter=now", nil, .invalidParameter, "updatedAfter"),
        .init("GET /tickets?blocked=1", nil, .invalidParameter, "blocked"),
        .init("GET /tickets/board?deleted=true", nil, .invalidParameter, "deleted"),
        .init("GET /tickets/board?limit=0", nil, .invalidParameter, "limit"),
        .init("GET /tickets/events?after=-1", nil, .invalidParameter, "after"),
        .init("GET /tickets/export?limit=1", nil, .invalidParameter, "limit"),
    ]

    /// One database for all cases, each of which must leave it unchanged.
    @Test func `refusals give a reason, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...3)
            for name in ["ui", "core"] { try await app.ask("POST", "/tickets/labels", #"{"name":"\#(name)"}"#) }
            for name in ["one", "two"] { try await app.ask("POST", "/tickets/sprints", #"{"name":"\#(name)"}"#) }
            #expect(try await app.ask("POST", "/tickets/sprints/1/start").status == 200)
            try await app.ticket(#"{"title":"one","issues":[1],"sprint":1,"labels":["ui"]}"#)
            try await app.ticket(#"{"title":"two"}"#)
            try await app.ask("POST", "/tickets/1/comments", #"{"text":"hm"}"#)
            #expect(try await app.ask("POST", "/tickets/1/links", #"{"kind":"blocks","ticket":2}"#).status == 200)

            let before = try await app.fingerprint()
            for refusal in Self.refusals {
                let parts = refusal.call.split(separator: " ").map(String.init)
                let answer = try await app.ask(parts[0], parts[1], refusal.body, headers: refusal.headers)
                #expect(answer.isProblem(refusal.code, field: refusal.field), "\(refusal.testDescription): \(answer)")
                #expect(try await app.fingerprint() == before, "\(refusal.testDescription)")
            }
        }
    }

    @Test func `beyond the limits nothing is created`() async throws {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...102)
            try await app.ticket(#"{"title":"one"}"#)
            let list = { (range: ClosedRange<Int>) in range.map(String.init).joined(separator: ",") }
            #expect(try await app.ask("POST", "/tickets/1/issues", #"{"issues":[\#(list(1...100))]}"#).status == 200)
            #expect(
                try await app.ask("POST", "/tickets/1/issues", #"{"issues":[\#(list(1...100))]}"#).status == 200,
                "they are there")
            try await app.postgres.execute(
                """
                INSERT INTO analytics.ticket_comments (ticket, number, author, text)
                SELECT id, n, 'x', 'x' FROM analytics.tickets, generate_series(1, 1000) AS n
                """)
            try await app.postgres.execute(
                """
                INSERT INTO analytics.ticket_attachments (ticket, number, blob, name, content_type, size, sha256, author)
                SELECT id, n, md5(n::text), 'x', 'x', 1, md5('') || md5(''), 'x' FROM analytics.tickets, generate_series(1, 50) AS n
                """)
            for number in 2...52 { #expect(try await app.ticket(#"{"title":"t"}"#) == number) }
            for number in 2...51 {
                #expect(
                    try await app.ask("POST", "/tickets/1/links", #"{"kind":"relates","ticket":\#(number)}"#).status
                        == 200)
            }
            let space = try await app.service.spaces.space(of: "app1", .live)
            try await app.postgres.execute(
                "INSERT INTO analytics.ticket_labels (space, name, color) SELECT \(space.id), 'l' || n, '#000000' FROM generate_series(1, 200) AS n"
            )
            try await app.postgres.execute(
                "INSERT INTO analytics.ticket_sprints (space, number, name, author) SELECT \(space.id), n, 's', 'x' FROM generate_series(1, 1000) AS n"
            )

            let before = try await app.fingerprint()
            let twentyOne = (1...21).map { "\"l\($0)\"" }.joined(separator: ",")
            for (path, body, code) in [
                ("/tickets/1/issues", #"{"issues":[101]}"#, ErrorCode.limitExceeded),
                ("/tickets/1/comments", #"{"text":"t"}"#, .limitExceeded),
                ("/tickets/1/attachments?name=a", "x", .limitExceeded),
                ("/tickets/1/links", #"{"kind":"relates","ticket":52}"#, .limitExceeded),
                ("/tickets/52/links", #"{"kind":"blocks","ticket":1}"#, .limitExceeded),
                ("/tickets/labels", #"{"name":"l"}"#, .limitExceeded),
                ("/tickets/sprints", #"{"name":"s"}"#, .limitExceeded),
                ("/tickets", #"{"title":"t","labels":[\#(twentyOne)]}"#, .invalidBody),
                ("/tickets", #"{"title":"t","description":"\#(String(repeating: "x", count: 50_001))"}"#, .invalidBody),
                (
                    "/tickets", #"{"title":"t","description":"\#(String(repeating: "x", count: 600_000))"}"#,
                    .payloadTooLarge
                ),
                ("/tickets/1/comments", #"{"text":"\#(String(repeating: "x", count: 20_001))"}"#, .invalidBody),
            ] {
                let answer = try await app.ask("POST", path, body)
                #expect(answer.isProblem(code), "\(path): \(answer)")
                #expect(try await app.fingerprint() == before, "\(path)")
            }
        }
    }
}
