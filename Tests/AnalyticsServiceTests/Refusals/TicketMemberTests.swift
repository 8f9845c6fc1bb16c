import MartletAPI
import MartletCore
import MartletFiles
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService
@testable import AnalyticsTickets

/// Unknown members and parameters in every call about tickets, and full tables. For other refusals see
/// `TicketRefusalTests`.
@Suite struct TicketMemberTests {
    private static let bodies: [Refusal] = [
        .init("PATCH /tickets/1", #"{"title":"t","x":1}"#, .invalidBody, "x"),
        .init("POST /tickets/1/move", #"{"end":"top","x":1}"#, .invalidBody, "x"),
        .init("POST /tickets/1/comments", #"{"text":"t","x":1}"#, .invalidBody, "x"),
        .init("PATCH /tickets/1/comments/1", #"{"text":"t","x":1}"#, .invalidBody, "x"),
        .init("POST /tickets/1/issues", #"{"issues":[1],"x":1}"#, .invalidBody, "x"),
        .init("POST /tickets/1/links", #"{"kind":"blocks","ticket":2,"x":1}"#, .invalidBody, "x"),
        .init("POST /tickets/labels", #"{"name":"n","x":1}"#, .invalidBody, "x"),
        .init("POST /tickets/sprints", #"{"name":"n","x":1}"#, .invalidBody, "x"),
        .init("PATCH /tickets/sprints/1", #"{"name":"n","x":1}"#, .invalidBody, "x"),
        .init("POST /tickets/sprints/1/close", #"{"x":1}"#, .invalidBody, "x"),
        .init("PATCH /tickets/settings", #"{"prefix":"APP","x":1}"#, .invalidBody, "x"),
        .init("PATCH /tickets/1", "{", .invalidJSON),
        .init("POST /tickets/1/move", "[]", .invalidBody), .init("PATCH /tickets/sprints/1", "{", .invalidJSON),
        .init("PATCH /tickets/settings", "[]", .invalidBody),
        .init("PATCH /tickets/1", #"{"description":"\#(String(repeating: "x", count: 600_000))"}"#, .payloadTooLarge),
        .init("POST /tickets/1/comments", #"{"text":"\#(String(repeating: "x", count: 600_000))"}"#, .payloadTooLarge),
        .init("POST /tickets/labels", #"{"name":"\#(String(repeating: "x", count: 64 << 10))"}"#, .payloadTooLarge),
        .init("DELETE /tickets/sprints/1", nil, .preconditionFailed, headers: ["if-match": "\"7\""]),
    ]

    /// Impossible names of labels, which PostgreSQL could not store.
    private static let names: [Refusal] = ["a%00", "%FF"].flatMap { name in
        [
            Refusal("PATCH /tickets/labels/\(name)", #"{"name":"n"}"#, .invalidPath, "label"),
            .init("DELETE /tickets/labels/\(name)", nil, .invalidPath, "label"),
        ]
    }

    private static let parameters: [Refusal] =
        [
            "GET /tickets", "POST /tickets/update", "GET /tickets/board", "GET /tickets/events", "GET /tickets/export",
            "GET /tickets/people", "GET /tickets/settings",
            "PATCH /tickets/settings", "GET /tickets/labels", "POST /tickets/labels", "DELETE /tickets/labels/ui",
            "GET /tickets/sprints", "POST /tickets/sprints",
            "GET /tickets/sprints/1", "PATCH /tickets/sprints/1", "DELETE /tickets/sprints/1",
            "GET /tickets/sprints/1/report", "POST /tickets/sprints/1/start",
            "POST /tickets/sprints/1/close", "GET /tickets/1", "PATCH /tickets/1", "DELETE /tickets/1",
            "POST /tickets/1/move", "POST /tickets/1/restore",
            "GET /tickets/1/history", "GET /tickets/1/comments", "POST /tickets/1/comments",
            "PATCH /tickets/1/comments/1", "DELETE /tickets/1/comments/1",
            "POST /tickets/1/attachments", "GET /tickets/1/attachments/1", "DELETE /tickets/1/attachments/1",
            "POST /tickets/1/issues", "DELETE /tickets/1/issues/1",
            "POST /tickets/1/links", "DELETE /tickets/1/links/blocks/2",
        ].map { Refusal($0 + "?x=1", nil, .invalidParameter, "x") } + [
            Refusal("GET /tickets/1/history?limit=501", nil, .invalidParameter, "limit"),
            .init("GET /tickets/1/comments?after=-1", nil, .invalidParameter, "after"),
            .init("GET /tickets/sprints?limit=0", nil, .invalidParameter, "limit"),
        ]

    @Test func `unknown members are refused, and so is what exceeds the limits`() async throws {
        try await AnalyticsApp.run { app in
            try await app.makeIssues(1...1)
            try await app.ask("POST", "/tickets/labels", #"{"name":"ui"}"#)
            try await app.ask("POST", "/tickets/sprints", #"{"name":"one"}"#)
            for title in ["one", "two"] { try await app.ticket(#"{"title":"\#(title)"}"#) }
            try await app.ask("POST", "/tickets/1/comments", #"{"text":"hm"}"#)
            try await app.postgres.execute(
                """
                INSERT INTO analytics.ticket_attachments (ticket, number, blob, name, content_type, size, sha256, author)
                SELECT id, 99, md5('x'), 'x', 'x', \(TicketLimits.attachmentsInBytes), md5('') || md5(''), 'x' FROM analytics.tickets WHERE number = 1
                """)
            let grant = StaffGrant(
                id: Colleague.ada.id, userName: "ada",
                rights: StaffRights(["app1": [.tickets: Set(StaffAction.allCases)]]))
            let full = Refusal("POST /tickets/2/attachments?name=a", "x", .limitExceeded)
            try await app.expect(
                Self.bodies + Self.names + Self.parameters + [full], as: app.principal(.staff, staff: grant))
            let space = try await app.space
            #expect(
                try await app.service.tickets.attachments.files.list(
                    AttachmentStore.blobSpace(space), after: nil, limit: 10
                ).blobs.isEmpty)
        }
    }
}
