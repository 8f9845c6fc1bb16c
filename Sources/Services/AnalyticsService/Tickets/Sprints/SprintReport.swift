import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// How a sprint goes, day by day, for a burndown and for what a team gets done.
struct SprintReport: Sendable {
    /// The last ones of a longer sprint.
    static let maximumDays = 100
    static let maximumTickets = 5_000
    static let maximumChanges = 50_000

    struct Day: Sendable, Equatable {
        /// As `2026-11-22`, UTC.
        var day: String
        /// At its end; of the last one, so far or when the sprint was closed.
        var standing: SprintLog.Standing
    }

    /// When the sprint was started.
    let start: SprintLog.Standing
    /// Now, or when it was closed.
    let end: SprintLog.Standing
    /// Between the two.
    let added: SprintLog.Sum
    let removed: SprintLog.Sum
    let days: [Day]

    /// - Parameter end: when the sprint was closed, just before its unfinished tickets went elsewhere; else now.
    init(_ log: SprintLog, from start: Date, to end: Date) {
        self.start = log.standing(at: start)
        self.end = log.standing(at: end)
        (added, removed) = log.moved(from: start, to: end)
        days = Self.midnights(from: start, to: end).map { day, midnight in
            Day(day: day, standing: log.standing(at: min(midnight, end)))
        }
    }

    /// The days from one time to another, with when they end.
    private static func midnights(from start: Date, to end: Date) -> [(day: String, midnight: Date)] {
        let day: TimeInterval = 86_400
        let last = (end.timeIntervalSince1970 / day).rounded(.down)
        let first = max((start.timeIntervalSince1970 / day).rounded(.down), last - Double(maximumDays - 1))
        let style = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
        return stride(from: first, through: max(first, last), by: 1).map { number in
            // A moment before midnight is still of the day.
            (
                style.format(Date(timeIntervalSince1970: number * day)),
                Date(timeIntervalSince1970: (number + 1) * day - 0.000_001)
            )
        }
    }

    var json: JSONValue {
        .object([
            .init("start", start.json), .init("end", end.json), .init("added", added.json),
            .init("removed", removed.json),
            .init("days", .array(days.map { day in .object([.init("day", .string(day.day))] + day.standing.members) })),
        ])
    }
}

extension SprintLog.Sum {
    fileprivate var json: JSONValue {
        .object([.init("tickets", .number(String(tickets))), .init("estimate", .number(String(estimate)))])
    }
}

extension SprintLog.Standing {
    fileprivate var members: [JSONValue.Member] { [.init("scope", scope.json), .init("complete", complete.json)] }

    fileprivate var json: JSONValue { .object(members) }
}
