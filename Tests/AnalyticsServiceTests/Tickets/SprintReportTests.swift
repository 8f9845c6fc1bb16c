import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsService
@testable import AnalyticsTickets

/// The progress of a sprint, counted by hand.
@Suite struct SprintReportTests {
    private typealias Ticket = SprintLog.Ticket
    private typealias Change = SprintLog.Change

    /// A time on a day in November.
    private static func at(_ day: Int, _ hour: Int) -> Date {
        Date(rfc3339: "2026-11-\(day < 10 ? "0" : "")\(day)T\(hour < 10 ? "0" : "")\(hour):00:00Z")!
    }

    private static func standing(_ scope: (Int, Int), _ complete: (Int, Int)) -> SprintLog.Standing {
        .init(
            scope: .init(tickets: scope.0, estimate: scope.1),
            complete: .init(tickets: complete.0, estimate: complete.1))
    }

    @Test func `each day shows the sprint's scope at its end, and the completed part`() {
        let log = SprintLog(
            sprint: 7,
            tickets: [
                // In the sprint throughout, completed on the 3rd, re-estimated on the 4th.
                Ticket(
                    created: Self.at(1, 8), status: "complete", sprint: 7, estimate: 5,
                    changes: [
                        Change(at: Self.at(1, 9), kind: .sprint(before: nil)),
                        Change(at: Self.at(3, 12), kind: .status(before: "todo")),
                        Change(at: Self.at(4, 12), kind: .estimate(before: 3)),
                    ]),
                // Created and added during the sprint; completed and reopened; moved on when the sprint was closed.
                Ticket(
                    created: Self.at(3, 9), status: "todo", sprint: 8, estimate: 2,
                    changes: [
                        Change(at: Self.at(3, 10), kind: .status(before: "todo")),
                        Change(at: Self.at(4, 9), kind: .status(before: "complete")),
                        Change(at: Self.at(5, 18), kind: .sprint(before: 7)),
                    ]),
                // This ticket is deleted and restored.
                Ticket(
                    created: Self.at(1, 8), status: "onHold", sprint: 7, estimate: nil,
                    changes: [
                        Change(at: Self.at(3, 1), kind: .bin(isIn: true)),
                        Change(at: Self.at(4, 1), kind: .bin(isIn: false)),
                    ]),
                // This ticket is removed from the sprint.
                Ticket(
                    created: Self.at(1, 8), status: "complete", sprint: nil, estimate: 1,
                    changes: [
                        Change(at: Self.at(4, 8), kind: .sprint(before: 7)),
                        Change(at: Self.at(4, 9), kind: .status(before: "todo")),
                    ]),
                // This ticket is in another sprint.
                Ticket(created: Self.at(1, 8), status: "todo", sprint: 8, estimate: 9),
            ])
        let report = SprintReport(log, from: Self.at(2, 9), to: Self.at(5, 17))
        #expect(report.start == Self.standing((3, 4), (0, 0)) && report.end == Self.standing((3, 7), (1, 5)))
        #expect(report.added == .init(tickets: 1, estimate: 2) && report.removed == .init(tickets: 1, estimate: 1))
        #expect(report.days.map(\.day) == ["2026-11-02", "2026-11-03", "2026-11-04", "2026-11-05"])
        #expect(
            report.days.map(\.standing) == [
                Self.standing((3, 4), (0, 0)), Self.standing((3, 6), (2, 5)), Self.standing((3, 7), (1, 5)),
                Self.standing((3, 7), (1, 5)),
            ])
    }

    @Test func `a sprint left open for long shows its last hundred days, and one closed at once shows one`() {
        let log = SprintLog(sprint: 1, tickets: [])
        let days = SprintReport(log, from: Self.at(1, 0).addingTimeInterval(-400 * 86_400), to: Self.at(1, 0)).days
        #expect(days.count == 100 && days.last?.day == "2026-11-01" && days.first?.day == "2026-07-25")
        #expect(SprintReport(log, from: Self.at(1, 0), to: Self.at(1, 0)).days.map(\.day) == ["2026-11-01"])
    }

    @Test func `work completed while the closing waits for the lock counts in the sprint`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ask("POST", "/tickets/sprints", #"{"name":"a"}"#)
            try await app.ticket(#"{"title":"t","sprint":1}"#)
            try await app.ask("POST", "/tickets/sprints/1/start")
            let space = try await app.service.spaces.space(of: "app1", .live)
            // A separate client, because the service's has no second connection for the request that closes the sprint.
            let other = app.database.client(for: "analytics")
            let store = TicketStore(
                postgres: other, lockReports: app.service.tickets.store.lockReports,
                resolveIssues: app.service.tickets.store.resolveIssues)
            let closing = try await store.change(space, by: .service) { work in
                let closing = Task { try await app.ask("POST", "/tickets/sprints/1/close") }
                let waiting: PostgresQuery =
                    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                try await app.database.withSuperuser { superuser in
                    try await eventually("the closing waits for its turn") {
                        try await !superuser.query(waiting).isEmpty
                    }
                }
                var (row, change) = (try await work.ticket(1), TicketChange())
                change.status = .complete
                let changes = row.apply(change, labels: nil)
                try await work.write(row, changes)
                return closing
            }
            #expect(try await closing.value.status == 200)
            await other.close()
            let report = try await app.ask("GET", "/tickets/sprints/1/report")
            #expect(
                report["end.complete.tickets"] == "1" && report["end.scope.tickets"] == "1"
                    && report["start.complete.tickets"] == "0", "\(report)")
        }
    }

    @Test func `estimates are stored and summed up, and a closed sprint reports its scope`() async throws {
        try await AnalyticsApp.run { app in
            for name in ["a", "b"] { try await app.ask("POST", "/tickets/sprints", #"{"name":"\#(name)"}"#) }
            for estimate in ["3", "5", "null"] {
                try await app.ticket(#"{"title":"t","sprint":1,"estimate":\#(estimate)}"#)
            }
            #expect(try await app.ask("GET", "/tickets/sprints/1/report").isProblem(.conflict))
            try await app.ask("POST", "/tickets/sprints/1/start")
            try await app.change(1, #"{"status":"complete"}"#)
            try await app.change(2, #"{"estimate":8}"#)
            try await app.change(3, #"{"sprint":null}"#)
            try await app.ticket(#"{"title":"late","estimate":1}"#)
            try await app.change(4, #"{"sprint":1}"#)
            #expect(try await app.change(4, #"{"estimate":null}"#)["estimate"] == "null")
            #expect(try await app.change(4, #"{"estimate":1}"#)["estimate"] == "1")
            let history = try await app.ask("GET", "/tickets/2/history")
            #expect(
                history["data.1.field"] == "\"estimate\"" && history["data.1.before"] == "5"
                    && history["data.1.after"] == "8", "\(history)")
            #expect(try await app.ask("GET", "/tickets/sprints/1")["estimates"] == #"{"all":12,"complete":3}"#)

            try await app.ask("POST", "/tickets/sprints/1/close", #"{"unfinishedTo":2}"#)
            for _ in 0..<2 {
                let report = try await app.ask("GET", "/tickets/sprints/1/report")
                let sum = { (path: String) in "\(report[path + ".tickets"] ?? "") \(report[path + ".estimate"] ?? "")" }
                #expect(
                    sum("start.scope") == "3 8" && sum("start.complete") == "0 0" && sum("end.scope") == "3 12"
                        && sum("end.complete") == "1 3", "\(report)")
                #expect(sum("added") == "1 1" && sum("removed") == "1 0" && sum("days.0.scope") == "3 12", "\(report)")
                // Later changes do not affect the report.
                try await app.change(2, #"{"status":"complete"}"#)
                try await app.ask("DELETE", "/tickets/1")
            }
        }
    }
}
