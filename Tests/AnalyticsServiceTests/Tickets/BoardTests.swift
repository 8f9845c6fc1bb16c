import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService
@testable import AnalyticsTickets

@Suite struct BoardTests {
    @Test func `tickets can be moved to any place`() async throws {
        try await AnalyticsApp.run { app in
            for number in 1...5 { #expect(try await app.ticket(#"{"title":"t\#(number)"}"#) == number) }
            let steps: [(ticket: Int, body: String, todo: [Int], inProgress: [Int])] = [
                (5, #"{"after":1}"#, [1, 5, 2, 3, 4], []), (1, #"{"end":"bottom"}"#, [5, 2, 3, 4, 1], []),
                (4, #"{"before":5}"#, [4, 5, 2, 3, 1], []),
                (1, #"{"end":"top"}"#, [1, 4, 5, 2, 3], []), (4, #"{"status":"inProgress"}"#, [1, 5, 2, 3], [4]),
                (2, #"{"status":"inProgress","before":4}"#, [1, 5, 3], [2, 4]),
                (3, #"{"status":"inProgress","after":2,"before":4}"#, [1, 5], [2, 3, 4]),
                // If a neighbour has moved to another column, the other neighbour counts, else the end.
                (5, #"{"status":"inProgress","after":1,"before":3}"#, [1], [2, 5, 3, 4]),
                (1, #"{"status":"inProgress","after":1}"#, [1], [2, 5, 3, 4]),
                (2, #"{"after":1}"#, [1], [5, 3, 4, 2]), (4, #"{"status":"todo","before":1}"#, [4, 1], [5, 3, 2]),
            ]
            for step in steps {
                let answer = try await app.ask("POST", "/tickets/\(step.ticket)/move", step.body)
                if step.body.contains(#""after":\#(step.ticket)"#) {
                    #expect(answer.isProblem(.invalidBody, field: "after"))
                } else {
                    #expect(answer.status == 200, "\(answer)")
                }
                #expect(try await app.column(.todo) == step.todo, "\(step)")
                #expect(try await app.column(.inProgress) == step.inProgress, "\(step)")
            }
            // Moving within a column does not conflict with an edit.
            #expect(try await app.ask("GET", "/tickets/1")["revision"] == "1")
            for number in [4, 1] { try await app.change(number, #"{"status":"complete"}"#) }
            #expect(try await app.column(.complete) == [1, 4], "the ticket completed last is on top")
        }
    }

    @Test func `the board has columns with counts, filtered like lists, and a cursor for the rest of a column`()
        async throws
    {
        try await AnalyticsApp.run { app in
            for number in 1...7 {
                try await app.ticket(#"{"title":"t","type":"\#(number % 2 == 0 ? "bug" : "feature")"}"#)
            }
            try await app.change(7, #"{"status":"onHold"}"#)
            let board = try await app.ask("GET", "/tickets/board?limit=2")
            #expect(
                (0..<4).map { board["columns.\($0).status"] } == [
                    "\"todo\"", "\"inProgress\"", "\"onHold\"", "\"complete\"",
                ])
            #expect(
                (0..<4).map { board["columns.\($0).title"] } == [
                    "\"To do\"", "\"In progress\"", "\"On hold\"", "\"Complete\"",
                ])
            #expect(
                (0..<4).map { board["columns.\($0).count"] } == ["6", "0", "1", "0"]
                    && board.numbers("columns.0.tickets") == [1, 2])
            #expect(board["columns.2.next"] == nil && board["generation"] == "8", "\(board)")
            let next = try #require(board["columns.0.next"]).dropFirst().dropLast()
            #expect(try await app.numbers("?status=todo&sort=position&cursor=\(next)") == [3, 4, 5, 6])
            let bugs = try await app.ask("GET", "/tickets/board?type=bug")
            #expect(
                bugs["columns.0.count"] == "3" && bugs.numbers("columns.0.tickets") == [2, 4, 6]
                    && bugs["columns.2.count"] == "0")
        }
    }

    /// Replays the moves on plain lists in the order of their generations; both must give the same result.
    @Test func `concurrent moves all take effect, and nothing is lost`() async throws {
        try await AnalyticsApp.run { app in
            let (count, people, movesPerPerson) = (30, 8, 40)
            for number in 1...count { #expect(try await app.ticket(#"{"title":"t"}"#) == number) }
            let space = try await app.service.spaces.space(of: "app1", .live)
            let store = app.service.tickets.store
            let moves = try await withThrowingTaskGroup(of: [(Int64, Int, TicketStatus?, TicketPlace)].self) { group in
                for person in 0..<people {
                    group.addTask {
                        var random = SeededGenerator(state: UInt64(person))
                        var done: [(Int64, Int, TicketStatus?, TicketPlace)] = []
                        for _ in 0..<movesPerPerson {
                            let ticket = Int.random(in: 1...count, using: &random)
                            let neighbour = { (random: inout SeededGenerator) -> Int? in
                                // Many moves to the same place.
                                let other =
                                    Bool.random(using: &random)
                                    ? Int.random(in: 1...3, using: &random) : Int.random(in: 1...count, using: &random)
                                return other == ticket || Int.random(in: 0..<4, using: &random) == 0 ? nil : other
                            }
                            let place = TicketPlace(
                                after: neighbour(&random), before: neighbour(&random),
                                isAtTop: Bool.random(using: &random))
                            let status: TicketStatus? =
                                Bool.random(using: &random) ? [.todo, .inProgress].randomElement(using: &random) : nil
                            done.append(
                                (
                                    try await store.move(
                                        ticket, to: status, place, in: space, by: Author(text: "person:\(person)")),
                                    ticket, status, place
                                ))
                        }
                        return done
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(moves.count == people * movesPerPerson && Set(moves.map(\.0)).count == moves.count)
            var model: [TicketStatus: [Int]] = [.todo: Array(1...count), .inProgress: []]
            for (_, ticket, status, place) in moves.sorted(by: { $0.0 < $1.0 }) {
                let old = try #require(model.first { $0.value.contains(ticket) }).key
                model[old]?.removeAll { $0 == ticket }
                var column = model[status ?? old] ?? []
                if let after = place.after.flatMap({ column.firstIndex(of: $0) }) {
                    column.insert(ticket, at: after + 1)
                } else if let before = place.before.flatMap({ column.firstIndex(of: $0) }) {
                    column.insert(ticket, at: before)
                } else {
                    column.insert(ticket, at: place.isAtTop ? 0 : column.count)
                }
                model[status ?? old] = column
            }
            for status in [TicketStatus.todo, .inProgress] { #expect(try await app.column(status) == model[status]) }
        }
    }

    @Test
    func `keys stay short when tickets are moved into the same gap repeatedly, and equal keys are ordered by number`()
        async throws
    {
        try await AnalyticsApp.run { app in
            for number in 1...4 { #expect(try await app.ticket(#"{"title":"t"}"#) == number) }
            let space = try await app.service.spaces.space(of: "app1", .live)
            let store = app.service.tickets.store
            var longest = 0
            var last = 1
            for turn in 0..<260 {
                // Puts 3 and 4 alternately directly after 1, each time into the remaining gap.
                let ticket = 3 + turn % 2
                try await store.move(
                    ticket, to: nil, TicketPlace(after: 1, before: nil, isAtTop: false), in: space, by: .service)
                longest = max(
                    longest,
                    try await app.postgres.query("SELECT max(length(position))::bigint FROM analytics.tickets")[0]
                        .decode(0))
                last = ticket
            }
            #expect(try await app.column(.todo) == [1, last, 7 - last, 2])
            #expect(longest > 30 && longest <= TicketWork.maximumKeyLength, "\(longest)")

            // Keys that the service itself never writes.
            try await app.postgres.execute("UPDATE analytics.tickets SET position = 'a1'")
            #expect(try await app.column(.todo) == [1, 2, 3, 4])
            try await store.move(
                4, to: nil, TicketPlace(after: 2, before: nil, isAtTop: false), in: space, by: .service)
            #expect(try await app.column(.todo) == [1, 2, 4, 3])
            try await app.postgres.execute("UPDATE analytics.tickets SET position = 'no key!' WHERE number = 1")
            try await store.move(
                3, to: nil, TicketPlace(after: 1, before: nil, isAtTop: false), in: space, by: .service)
            let column = try await app.column(.todo)
            #expect(column.firstIndex(of: 3) == column.firstIndex(of: 1).map { $0 + 1 }, "\(column)")
        }
    }
}
