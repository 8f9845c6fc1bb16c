import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListStatements: Endpoint {
    static let route = Route(
        .get, "/admin/database/statements", "listStatements",
        "Lists the SQL statements that took the most time, with their history by hour.",
        callers: .staff(.read, .status),
        parameters: [
            .query("from", .time, "The start; by default a day before `to`."),
            .query("to", .time, "The end, exclusive; by default now."),
            .query("limit", .integer.range(1, 30).defaulting(to: 20)),
        ],
        details: """
            The history is kept for 31 days. It comes from PostgreSQL's extension `pg_stat_statements`. Without it, \
            statements that have run for more than a second are counted once a minute, so short ones are missing. The \
            ten statements that took the most time are recorded each minute.
            """,
        answers: [
            .answer(200, "The statements, the one that took the most time first.", .json(.statementHistory))
        ])

    let store: StatementStore
    let now: @Sendable () -> Date

    struct History: Encodable {
        struct Statement: Encodable {
            var id: String
            var text: String
            var calls: Int
            var milliseconds: Double
            var maximumMilliseconds: Double
            var hourlyCalls: [Int]
            var hourlyMilliseconds: [Double]
        }

        var from: Date
        var intervalInSeconds = StatementStore.intervalInSeconds
        var statements: [Statement]
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let to = try request.time("to") ?? now()
        let from = try request.time("from") ?? to.addingTimeInterval(-86_400)
        let longest = Double(StatementStore.retentionInDays * 86_400)
        guard from < to, to.timeIntervalSince(from) <= longest else {
            throw ServiceError(
                .invalidParameter, "Expected a time before to, at most \(StatementStore.retentionInDays) days earlier.",
                field: "from")
        }
        let length = Double(StatementStore.intervalInSeconds)
        let start = Date(timeIntervalSince1970: (from.timeIntervalSince1970 / length).rounded(.down) * length)
        let rows = try await store.rows(from: start, to: to, limit: try context.integer("limit"))
        return try .encoding(Self.history(rows, from: start, to: to))
    }

    /// - Parameters:
    ///   - rows: Grouped by statement.
    ///   - start: The start of an hour.
    static func history(_ rows: [StatementStore.Row], from start: Date, to: Date) -> History {
        let length = Double(StatementStore.intervalInSeconds)
        let hours = Int((to.timeIntervalSince(start) / length).rounded(.up))
        var statements: [History.Statement] = []
        for row in rows {
            if statements.last?.id != String(row.id) {
                statements.append(
                    History.Statement(
                        id: String(row.id), text: row.text, calls: 0, milliseconds: 0, maximumMilliseconds: 0,
                        hourlyCalls: Array(repeating: 0, count: hours),
                        hourlyMilliseconds: Array(repeating: 0, count: hours)))
            }
            let hour = Int(row.start.timeIntervalSince(start) / length)
            guard (0..<hours).contains(hour) else { continue }
            statements[statements.count - 1].add(row, hour: hour)
        }
        return History(from: start, statements: statements)
    }
}

extension ListStatements.History.Statement {
    fileprivate mutating func add(_ row: StatementStore.Row, hour: Int) {
        calls += row.calls
        milliseconds += row.milliseconds
        maximumMilliseconds = max(maximumMilliseconds, row.maximum)
        hourlyCalls[hour] += row.calls
        hourlyMilliseconds[hour] += row.milliseconds
    }
}

extension Schema {
    fileprivate static let statementHistory: Schema = component(
        "StatementHistory",
        .object(
            [
                "from": .time.described("The start of the first hour."),
                "intervalInSeconds": .integer,
                "statements": .array(
                    of: .object(
                        [
                            "id": .string,
                            "text": .string.described("With placeholders instead of values, at most 1,000 characters."),
                            "calls": .integer,
                            "milliseconds": .number.described("The total time, summed over all calls."),
                            "maximumMilliseconds": .number.described(
                                "The highest average of a minute; without the extension, the longest time seen."),
                            "hourlyCalls": .array(of: .integer),
                            "hourlyMilliseconds": .array(of: .number),
                        ],
                        required: [
                            "id", "text", "calls", "milliseconds", "maximumMilliseconds", "hourlyCalls",
                            "hourlyMilliseconds",
                        ])),
            ], required: ["from", "intervalInSeconds", "statements"]))
}
