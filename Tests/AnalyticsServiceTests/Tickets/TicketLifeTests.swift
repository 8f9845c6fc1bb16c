import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import AnalyticsService
@testable import AnalyticsTickets

@Suite struct TicketLifeTests {
    @Test func `a ticket is created, changed, deleted and restored, and its history shows who did what`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let made = try await app.ask("POST", "/tickets", #"{"title":"  It crashes  "}"#)
            #expect(made.status == 201 && made.header("etag") == "\"1\"", "\(made)")
            #expect(
                made["number"] == "1" && made["key"] == "\"APP-1\"" && made["title"] == "\"It crashes\""
                    && made["status"] == "\"todo\"")
            #expect(
                made["type"] == "\"task\"" && made["priority"] == "\"medium\"" && made["assignee"] == "null"
                    && made["labels"] == "[]")
            #expect(
                made["createdBy"] == Colleague.ada.author && made["completed"] == "null"
                    && made["description"] == "\"\"")

            let body =
                #"{"status":"complete","assignee":"me","priority":"high","type":"bug","appVersion":"1.0","description":"When\nit rains"}"#
            let changed = try await app.ask("PATCH", "/tickets/APP-1", body, as: .bob, headers: ["if-match": "\"1\""])
            #expect(
                changed.status == 200 && changed.header("etag") == "\"2\"" && changed["revision"] == "2", "\(changed)")
            #expect(
                changed["assignee"] == "\"\(Colleague.bob.id)\"" && changed["completed"] != "null"
                    && changed["appVersion"] == "\"1.0\"")
            #expect(try await app.ask("GET", "/tickets/1").text == changed.text)

            // An unchanged value makes no new revision and no history.
            let same = try await app.ask(
                "PATCH", "/tickets/1", #"{"status":"complete"}"#, headers: ["if-match": "\"2\""])
            #expect(same.header("etag") == "\"2\"")
            let reopened = try await app.ask(
                "PATCH", "/tickets/1", #"{"status":"onHold","assignee":null,"appVersion":null}"#,
                headers: ["if-match": "\"2\""])
            #expect(
                reopened["completed"] == "null" && reopened["assignee"] == "null" && reopened["appVersion"] == "null")

            let history = try await app.ask("GET", "/tickets/1/history")
            let acts = (0..<10).map {
                "\(history["data.\($0).act"] ?? "-") \(history["data.\($0).field"] ?? "-") \(history["data.\($0).after"] ?? "-")"
            }
            #expect(
                acts == [
                    #""created" null null"#, #""changed" "type" "bug""#, #""changed" "status" "complete""#,
                    #""changed" "priority" "high""#,
                    #""changed" "description" "When\u000ait rains""#,
                    "\"changed\" \"assignee\" \"\(Colleague.bob.id)\"", #""changed" "appVersion" "1.0""#,
                    #""changed" "status" "onHold""#, #""changed" "assignee" null"#, #""changed" "appVersion" null"#,
                ], "\(history)")
            #expect(
                history["data.0.by"] == Colleague.ada.author && history["data.1.by"] == Colleague.bob.author
                    && history["data.2.before"] == "\"todo\"")
            let page = try await app.ask("GET", "/tickets/1/history?limit=3")
            let rest = try await app.ask(
                "GET", "/tickets/1/history?after=\(try #require(page["next"]).dropFirst().dropLast())")
            #expect(page["count"] == "3" && rest["count"] == "7" && rest["next"] == nil)

            #expect(
                try await app.ask("DELETE", "/tickets/1", headers: ["if-match": "\"2\""]).isProblem(.preconditionFailed)
            )
            #expect(try await app.ask("DELETE", "/tickets/1", headers: ["if-match": "\"3\""]).status == 204)
            #expect(try await app.ask("GET", "/tickets/1").isProblem(.ticketNotFound))
            #expect(try await app.numbers("") == [])
            let bin = try await app.ask("GET", "/tickets?deleted=true")
            #expect(
                bin.numbers("data") == [1] && bin["data.0.deleted"]?.hasPrefix("\"20") == true,
                "the bin shows when the ticket was deleted")
            #expect(try await app.column(.onHold) == [])
            let restored = try await app.ask("POST", "/tickets/1/restore")
            #expect(
                restored.status == 200 && restored["status"] == "\"onHold\"" && restored["deleted"] == "null",
                "\(restored)")
            #expect(try await app.ask("POST", "/tickets/1/restore").isProblem(.ticketNotFound))
            #expect(try await app.column(.onHold) == [1])
        }
    }

    @Test func `several tickets are changed at once and in order, each with its history`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ask("POST", "/tickets/sprints", #"{"name":"s"}"#)
            for number in 1...4 { try await app.ticket(#"{"title":"t\#(number)"}"#) }
            let done = try await app.ask(
                "POST", "/tickets/update",
                #"{"tickets":[3,1],"status":"inProgress","assignee":"me","sprint":1,"estimate":2}"#)
            #expect(
                done.status == 200 && done.numbers("data") == [1, 3] && done["data.1.estimate"] == "2"
                    && done["data.0.sprint"] == "1", "\(done)")
            #expect(try await app.column(.inProgress) == [3, 1])
            #expect(try await app.column(.todo) == [2, 4])
            let history = try await app.ask("GET", "/tickets/3/history")
            #expect(
                history["count"] == "5" && history["data.1.field"] == "\"status\""
                    && history["data.1.by"] == Colleague.ada.author, "\(history)")
            #expect(try await app.ask("GET", "/tickets/2")["revision"] == "1")
        }
    }

    @Test func `numbers have no gaps when tickets are created concurrently, and failures use none`() async throws {
        try await AnalyticsApp.run { app in
            let numbers = try await withThrowingTaskGroup(of: Int?.self) { group in
                for index in 0..<40 {
                    group.addTask {
                        // Every fourth fails after taking its number.
                        let body = index % 4 == 3 ? #"{"title":"t","labels":["nope"]}"# : #"{"title":"t"}"#
                        return try await app.ask("POST", "/tickets", body)["number"].flatMap { Int($0) }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(numbers.compactMap(\.self).sorted() == Array(1...30))
            let column = try await app.column(.todo)
            #expect(column == column.sorted() && column.count == 30, "a new ticket is added at the end")
        }
    }

    @Test func `only one of ten concurrent changes of the same revision succeeds`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"t"}"#)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<10 {
                    group.addTask {
                        try await app.ask(
                            "PATCH", "/tickets/1", #"{"title":"by \#(index)"}"#, headers: ["if-match": "\"1\""]
                        ).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200] + Array(repeating: 412, count: 9))
            #expect(try await app.ask("GET", "/tickets/1/history")["count"] == "2")
        }
    }

    @Test func `apps and environments have separate tickets and prefixes`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"mine"}"#)
            var (test, other) = (app, app)
            test.environment = .test
            other.appID = "app2"
            for foreign in [test, other] {
                #expect(try await foreign.ask("GET", "/tickets/1").isProblem(.ticketNotFound))
                #expect(try await foreign.numbers("?search=mine") == [])
                #expect(try await foreign.ticket(#"{"title":"theirs"}"#) == 1)
            }
            #expect(try await app.ask("PATCH", "/tickets/settings", #"{"prefix":"SHOP"}"#)["prefix"] == "\"SHOP\"")
            #expect(try await app.ask("GET", "/tickets/shop-1")["key"] == "\"SHOP-1\"")
            #expect(try await app.ask("GET", "/tickets/settings")["prefix"] == "\"SHOP\"")
            #expect(try await other.ask("GET", "/tickets/1")["key"] == "\"APP-1\"")
        }
    }

    @Test func `staff who have used the tickets are listed by name, and a new name replaces the old one`() async throws
    {
        try await AnalyticsApp.run { app in
            try await app.ask("GET", "/tickets", as: .bob)
            try await app.ask("GET", "/tickets", as: .ada)
            try await app.master("GET", "/tickets")
            let people = try await app.ask("GET", "/tickets/people")
            #expect(
                people["count"] == "2" && people["data.0.name"] == "\"ada\""
                    && people["data.1.id"] == "\"\(Colleague.bob.id)\"", "\(people)")
            let grant = StaffGrant(
                id: Colleague.bob.id, userName: "robert", rights: StaffRights(["app1": [.tickets: [.read]]]))
            #expect(
                try await app.gateway.acting(as: app.principal(.staff, staff: grant)).get("/tickets/people")[
                    "data.1.name"] == "\"robert\"")
        }
    }

    @Test func `the app's server manages tickets by its key, and cannot be an assignee`() async throws {
        try await AnalyticsApp.run { app in
            let made = try await app.master("POST", "/tickets", #"{"title":"t"}"#)
            #expect(made.status == 201 && made["createdBy"] == "\"key:c1\"")
            #expect(
                try await app.master("POST", "/tickets", #"{"title":"t","assignee":"me"}"#).isProblem(
                    .invalidBody, field: "assignee"))
            #expect(try await app.master("GET", "/tickets?assignee=me").isProblem(.invalidParameter, field: "assignee"))
        }
    }
}
