import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AnalyticsService

@Suite struct SprintTests {
    @Test func `a sprint is planned, started and closed, and unfinished tickets move on`() async throws {
        try await AnalyticsApp.run { app in
            let made = try await app.ask(
                "POST", "/tickets/sprints",
                #"{"name":"First","goal":"Ship it","starts":"2026-11-02","ends":"2026-11-13"}"#)
            #expect(
                made.status == 201 && made["number"] == "1" && made["state"] == "\"planned\""
                    && made["starts"] == "\"2026-11-02\"", "\(made)")
            try await app.ask("POST", "/tickets/sprints", #"{"name":"Second"}"#)
            for status in ["todo", "inProgress", "onHold", "complete"] {
                try await app.ticket(#"{"title":"t","status":"\#(status)","sprint":1}"#)
            }
            try await app.ticket(#"{"title":"t"}"#)
            try await app.ticket(#"{"title":"t","sprint":1}"#)
            try await app.ask("DELETE", "/tickets/6")

            let started = try await app.ask("POST", "/tickets/sprints/1/start")
            #expect(
                started["state"] == "\"active\"" && started["started"] != "null"
                    && started["starts"] == "\"2026-11-02\"", "\(started)")
            #expect(
                (["todo", "inProgress", "onHold", "complete"]).map { started["counts.\($0)"] } == ["1", "1", "1", "1"])
            #expect(try await app.numbers("?sprint=active") == [4, 3, 2, 1])

            let changed = try await app.ask(
                "PATCH", "/tickets/sprints/1", #"{"goal":"","ends":null}"#, headers: ["if-match": "\"2\""])
            #expect(
                changed["ends"] == "null" && changed["goal"] == "\"\"" && changed["name"] == "\"First\""
                    && changed["starts"] == "\"2026-11-02\"", "\(changed)")

            let closed = try await app.ask("POST", "/tickets/sprints/1/close", #"{"unfinishedTo":2}"#)
            #expect(
                closed["state"] == "\"closed\"" && closed["closed"] != "null" && closed["ends"] != "null", "\(closed)")
            #expect(closed["counts.complete"] == "1" && closed["counts.todo"] == "0")
            for (query, numbers) in [("1", [4]), ("2", [3, 2, 1]), ("none", [5])] {
                #expect(try await app.numbers("?sprint=\(query)") == numbers, "\(query)")
            }
            let history = try await app.ask("GET", "/tickets/2/history")
            #expect(
                history["data.1.field"] == "\"sprint\"" && history["data.1.before"] == "1"
                    && history["data.1.after"] == "2", "\(history)")
            #expect(try await app.ask("GET", "/tickets/4/history")["count"] == "1")
            #expect(
                try await app.ask("POST", "/tickets/6/restore")["sprint"] == "2", "deleted tickets move, too")

            let before = try await app.fingerprint()
            #expect(
                try await app.change(5, #"{"sprint":1}"#).isProblem(.invalidBody, field: "sprint"),
                "the sprint is closed")
            #expect(try await app.ask("POST", "/tickets/sprints/1/start").isProblem(.conflict))
            #expect(try await app.ask("POST", "/tickets/sprints/1/close").isProblem(.conflict))
            #expect(try await app.ask("DELETE", "/tickets/sprints/1").isProblem(.conflict))
            #expect(try await app.fingerprint() == before)
            // Editing a ticket of a closed sprint does not require naming the sprint again.
            #expect(try await app.change(4, #"{"title":"u","sprint":1}"#).status == 200)

            try await app.ask("POST", "/tickets/sprints/2/start")
            #expect(try await app.ask("POST", "/tickets/sprints/2/close").status == 200)
            #expect(
                try await app.numbers("?sprint=none") == [6, 5, 3, 2, 1],
                "without `unfinishedTo`, unfinished tickets go to the backlog")
        }
    }

    @Test func `a planned sprint can be deleted, and lists show the newest first`() async throws {
        try await AnalyticsApp.run { app in
            for name in ["a", "b", "c"] { try await app.ask("POST", "/tickets/sprints", #"{"name":"\#(name)"}"#) }
            try await app.ticket(#"{"title":"t","status":"complete","sprint":2}"#)
            let page = try await app.ask("GET", "/tickets/sprints?limit=2")
            #expect(page.numbers("data") == [3, 2] && page["next"] == "\"2\"")
            #expect(try await app.ask("GET", "/tickets/sprints?before=2").numbers("data") == [1])
            #expect(
                try await app.ask("DELETE", "/tickets/sprints/2", headers: ["if-match": "\"9\""]).isProblem(
                    .preconditionFailed))
            #expect(try await app.ask("DELETE", "/tickets/sprints/2", headers: ["if-match": "\"1\""]).status == 204)
            #expect(try await app.ask("GET", "/tickets/sprints/2").isProblem(.sprintNotFound))
            #expect(try await app.ask("GET", "/tickets/1")["sprint"] == "null")
            #expect(
                try await app.ask("POST", "/tickets/sprints", #"{"name":"d"}"#)["number"] == "4",
                "numbers are not reused")
            let read = try await app.ask("GET", "/tickets/sprints/4")
            #expect(read.header("etag") == "\"1\"" && read["createdBy"] == Colleague.ada.author)
        }
    }

    @Test func `only one of two sprints started at once becomes active`() async throws {
        try await AnalyticsApp.run { app in
            for number in 1...6 { try await app.ask("POST", "/tickets/sprints", #"{"name":"s\#(number)"}"#) }
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...6 {
                    group.addTask { try await app.ask("POST", "/tickets/sprints/\(number)/start").status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200, 409, 409, 409, 409, 409])
        }
    }
}
