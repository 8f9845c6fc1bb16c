import Foundation
import MartletPostgres

/// The time that a question is about, cut into intervals of one time zone.
struct Span: Sendable {
    enum Interval: String, Sendable, CaseIterable {
        case hour, day, week, month
        /// All of it.
        case none
    }

    /// How it was asked for.
    struct Request: Sendable {
        /// The first and the last day, `2026-11-22`; nil: the last 30 days.
        var from: String?
        var to: String?
        var interval: Interval
        /// Nil: the space's.
        var timeZone: String?
    }

    static let maximumDays = 800
    static let maximumIntervals = 800

    let space: Space
    let interval: Interval
    let timeZone: String
    /// The first and the last day.
    let from: String
    let to: String
    /// Where intervals begin, in seconds since 1970, and where the last ends. One is cut off where the span is.
    let bounds: [Int]
    /// The same as days since 1970 in the time zone.
    let days: [Int]
    /// What the intervals are called: the day on which they begin, or the hour with its offset.
    let labels: [String]
    /// By when events are rolled up.
    let asOf: Date?
    /// In which days are rolled up; nil while they are made anew.
    let rolledTimeZone: String?

    /// Whether intervals are made of whole hours of UTC.
    var hasWholeHours: Bool { bounds.allSatisfy { $0 % 3_600 == 0 } }

    /// Whether intervals are made of days as they are rolled up.
    var hasRolledDays: Bool { interval != .hour && timeZone == rolledTimeZone }

    var start: Date { Date(timeIntervalSince1970: Double(bounds.first ?? 0)) }
    var end: Date { Date(timeIntervalSince1970: Double(bounds.last ?? 0)) }

    /// Starts of hours, since 1970; not for what has no whole ones.
    var hours: [Int] { bounds.map { $0 / 3_600 } }
    var quarters: [Int] { bounds.map { $0 / 900 } }
}
