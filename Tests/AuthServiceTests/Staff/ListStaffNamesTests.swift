import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AuthService

/// How other services learn whether someone is a staff member.
@Suite struct ListStaffNamesTests {
    @Test func `Existing and enabled staff are named`() async throws {
        try await StaffClient.run { client, root async throws in
            let anna = try await client.make("anna", by: root)
            let berta = try await client.make("berta", by: root)
            let body = #"{"staff":["\#(berta)","\#(anna.uppercased())","0193a000-0000-7000-8000-000000000001","x"]}"#
            func names() async throws -> [String?] {
                let answer = try await client.auth.gateway.post("/internal/staff/names", body)
                try #require(answer.status == 200, "\(answer)")
                return (0..<3).map { place in
                    answer.string("staff.\(place).id").map {
                        $0 + " " + (answer.string("staff.\(place).userName") ?? "")
                    }
                }
            }
            #expect(try await names() == ["\(anna) anna", "\(berta) berta", nil])
            #expect(try await client.send("PATCH", "staff/\(anna)", #"{"disabled":true}"#, as: root).status == 200)
            #expect(try await names() == ["\(berta) berta", nil, nil])
            #expect(try await client.send("DELETE", "staff/\(berta)", as: root).status == 204)
            #expect(try await names() == [nil, nil, nil])
        }
    }

    @Test func `With an area, only staff who may read it in the app are named, with their mail addresses`()
        async throws
    {
        try await StaffClient.run { client, root async throws in
            let (anna, berta) = (
                try await client.make("anna@example.org", by: root), try await client.make("berta", by: root)
            )
            func named(_ app: String, _ area: String) async throws -> [String] {
                let body = #"{"staff":["\#(anna)","\#(berta)"],"app":"\#(app)","area":"\#(area)"}"#
                let answer = try await client.auth.gateway.post("/internal/staff/names", body)
                try #require(answer.status == 200, "\(answer)")
                return (0..<2).compactMap { place in
                    answer.string("staff.\(place).userName").map {
                        $0 + " " + (answer.string("staff.\(place).email") ?? "-")
                    }
                }
            }
            #expect(try await named("a9", "crashes") == [])
            for (id, body) in [
                (anna, #"{"rights":{"*":{"crashes":["read"]}}}"#),
                (berta, #"{"rights":{"*":{"crashes":["update"],"tickets":["read"]}}}"#),
            ] {
                #expect(try await client.send("PATCH", "staff/\(id)", body, as: root).status == 200)
            }
            #expect(try await named("a9", "crashes") == ["anna@example.org anna@example.org"])
            #expect(try await named("a9", "tickets") == ["berta -"])
            let set = try await client.send("PATCH", "staff/\(berta)", #"{"email":"Berta.B@Example.org"}"#, as: root)
            #expect(set.string("email") == "berta.b@example.org", "\(set)")
            #expect(try await named("a9", "tickets") == ["berta berta.b@example.org"])
            #expect(
                try await client.send("PATCH", "staff/\(berta)", #"{"email":"berta"}"#, as: root).isProblem(
                    .invalidBody, field: "email"))
            #expect(
                try await client.send("PATCH", "staff/\(berta)", #"{"disabled":false}"#, as: root).string("email")
                    == "berta.b@example.org")
            #expect(try await client.send("PATCH", "staff/\(berta)", #"{"email":null}"#, as: root)["email"] == "null")
            #expect(try await named("a9", "tickets") == ["berta -"])
        }
    }

    @Test func `Only internal services may request names, for a limited number of staff`() async throws {
        try await StaffClient.run { client, root async throws in
            for kind in [Principal.Kind.client, .master, .staff, .visitor, .ingest] {
                let principal = Principal(kind: kind, appID: "a", appNumber: 1, environment: .live, credentialID: "x")
                let answer = try await client.auth.gateway.acting(as: principal).post(
                    "/internal/staff/names", #"{"staff":["\#(root.staffID)"]}"#)
                #expect(answer.isProblem(.forbidden), "\(answer)")
            }
            #expect(
                try await client.auth.gateway.acting(as: nil).post("/internal/staff/names", #"{"staff":[]}"#).isProblem(
                    .unauthorized))
            let many = (0...ListStaffNames.maximumStaff).map { _ in #""x""# }.joined(separator: ",")
            #expect(
                try await client.auth.gateway.post("/internal/staff/names", #"{"staff":[\#(many)]}"#).isProblem(
                    .limitExceeded, field: "staff"))
        }
    }
}
