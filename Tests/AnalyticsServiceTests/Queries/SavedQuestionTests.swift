import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct SavedQuestionTests {
    private static let rights = StaffRights(["app1": [.analytics: Set(StaffAction.allCases)]])

    @Test func `questions are saved under a name, listed by name, replaced and deleted`() async throws {
        try await AnalyticsApp.run { app async throws in
            let counts = #"{"kind":"counts","days":7,"parameters":{"group":"release","event":"Opened"}}"#
            let first = try await app.staff(
                "PUT", "/analytics/questions/Opened%20by%20release", counts, rights: Self.rights)
            #expect(first.status == 200 && first["name"] == #""Opened by release""#, "\(first)")
            #expect(first["parameters"] == #"{"event":"Opened","group":"release"}"# && first["isOnOverview"] == "false")
            #expect(first["createdBy"] == first["updatedBy"] && first["createdBy"]?.hasPrefix(#""staff:"#) == true)

            let funnel = #"{"kind":"funnel","steps":["Opened","Bought"],"windowSeconds":3600,"isOnOverview":true}"#
            #expect(try await app.master("PUT", "/analytics/questions/Buying", funnel).status == 200)
            let list = try await app.master("GET", "/analytics/questions")
            #expect(list["count"] == "2" && list["data.0.name"] == #""Buying""#, "\(list)")
            #expect(list["data.0.days"] == "30" && list["data.0.windowSeconds"] == "3600", "\(list)")

            let people = #"{"kind":"people","parameters":{"interval":"week"}}"#
            #expect(try await app.master("PUT", "/analytics/questions/Buying", people).status == 200)
            let read = try await app.staff("GET", "/analytics/questions/Buying", rights: Self.rights)
            #expect(read["kind"] == #""people""# && read["steps"] == nil && read["isOnOverview"] == "false", "\(read)")

            #expect(try await app.staff("DELETE", "/analytics/questions/Buying", rights: Self.rights).status == 204)
            #expect(try await app.master("GET", "/analytics/questions/Buying").isProblem(.notFound))
            #expect(try await app.master("DELETE", "/analytics/questions/Buying").isProblem(.notFound))
            #expect(try await app.count("analytics.questions") == 1)
        }
    }

    @Test func `environments and apps have questions of their own`() async throws {
        try await AnalyticsApp.run { app async throws in
            #expect(try await app.master("PUT", "/analytics/questions/a", #"{"kind":"people"}"#).status == 200)
            var (test, other) = (app, app)
            test.environment = .test
            other.appID = "app2"
            for stranger in [test, other] {
                #expect(try await stranger.master("GET", "/analytics/questions")["count"] == "0")
                #expect(try await stranger.master("DELETE", "/analytics/questions/a").isProblem(.notFound))
            }
            #expect(try await app.count("analytics.questions") == 1)
        }
    }

    private static let refusals: [Refusal] = [
        Refusal("PUT /analytics/questions/a", "{}", .invalidBody, "kind"),
        Refusal("PUT /analytics/questions/a", #"{"kind":"live"}"#, .invalidBody, "kind"),
        Refusal("PUT /analytics/questions/a", #"{"kind":"people","days":0}"#, .invalidBody, "days"),
        Refusal("PUT /analytics/questions/a", #"{"kind":"people","days":801}"#, .invalidBody, "days"),
        Refusal("PUT /analytics/questions/a", #"{"kind":"people","steps":["a","b"]}"#, .invalidBody, "steps"),
        Refusal("PUT /analytics/questions/a", #"{"kind":"funnel","steps":["a"]}"#, .invalidBody, "steps"),
        Refusal("PUT /analytics/questions/a", #"{"kind":"people","isOnOverview":1}"#, .invalidBody, "isOnOverview"),
        Refusal(
            "PUT /analytics/questions/a", #"{"kind":"people","parameters":{"event":"a"}}"#, .invalidBody,
            "parameters.event"),
        Refusal(
            "PUT /analytics/questions/a", #"{"kind":"counts","parameters":{"interval":"year"}}"#, .invalidBody,
            "parameters.interval"),
        Refusal(
            "PUT /analytics/questions/a", #"{"kind":"counts","parameters":{"event":""}}"#, .invalidBody,
            "parameters.event"),
        Refusal("PUT /analytics/questions/a%0Ab", #"{"kind":"people"}"#, .invalidPath, "name"),
        Refusal(
            "PUT /analytics/questions/" + String(repeating: "a", count: 101), #"{"kind":"people"}"#, .invalidPath,
            "name"),
        Refusal("GET /analytics/questions/a%00", nil, .invalidPath, "name"),
    ]

    @Test func `an invalid question is refused by member, and nothing is saved`() async throws {
        try await AnalyticsApp.run { app async throws in
            _ = try await app.space
            try await app.expect(Self.refusals, as: app.principal(.master))
        }
    }

    @Test func `an app may have 100 questions; those that it has can still be replaced`() async throws {
        try await AnalyticsApp.run { app async throws in
            let space = try await app.space
            try await app.postgres.execute(
                """
                INSERT INTO analytics.questions (space, name, question, on_overview, created_by, updated_by)
                SELECT \(space.id), 'q' || n, '{"kind":"people","days":30}', FALSE, 'service', 'service' FROM generate_series(1, 98) AS n
                """)
            let body = #"{"kind":"sessions"}"#
            // The last two places, for eight saves at once.
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...8 {
                    group.addTask { try await app.master("PUT", "/analytics/questions/new\(number)", body).status }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 2, "\(statuses)")
            #expect(try await app.master("PUT", "/analytics/questions/more", body).isProblem(.limitExceeded))
            #expect(try await app.master("PUT", "/analytics/questions/q7", body)["kind"] == #""sessions""#)
            #expect(try await app.count("analytics.questions") == 100)
        }
    }
}
