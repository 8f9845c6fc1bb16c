import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The progress of a sprint day by day, for burndown charts and velocity.
struct SprintReport: Sendable {
    /// The maximum number of days in a report. For a longer sprint, only the last days are reported.
    static let maximumDays = 100
    static let maximumTickets = 5_000
    static let maximumChanges = 50_000

    struct Day: Sendable, Equatable {
        /// Such as `2026-11-22`, in UTC.
        var day: String
        /// The state at the end of the day; on the last day, the current one or that at closing.
        var standing: SprintLog.Standing
    }

    /// The state when the sprint was started.
    let start: SprintLog.Standing
    /// The current state, or that at closing.
    let end: SprintLog.Standing
    /// Tickets added between start and end.
    let added: SprintLog.Sum
    let removed: SprintLog.Sum
    let days: [Day]

    /// - Parameter end: When the sprint was closed, just before its unfinished tickets were moved; else the current
    ///   time.
    init(_ log: SprintLog, from start: Date, to end: Date) {
        self.start = log.standing(at: start)
        self.end = log.standing(at: end)
        (added, removed) = log.moved(from: start, to: end)
        days = Self.midnights(from: start, to: end).map { day, midnight in
            Day(day: day, standing: log.standing(at: min(midnight, end)))
        }
    }

    /// The days between two times, with their ends.
    private static func midnights(from start: Date, to end: Date) -> [(day: String, midnight: Date)] {
        let day: TimeInterval = 86_400
        let last = (end.timeIntervalSince1970 / day).rounded(.down)
        let first = max((start.timeIntervalSince1970 / day).rounded(.down), last - Double(maximumDays - 1))
        let style = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
        return stride(from: first, through: max(first, last), by: 1).map { number in
            // A day ends just before midnight, so that changes at midnight count for the next day.
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
