import Foundation
import MartletPostgres

/// The time that a question covers, divided into intervals in one time zone.
struct Span: Sendable {
    enum Interval: String, Sendable, CaseIterable {
        case hour, day, week, month
        /// One interval for the whole span.
        case none
    }

    /// The span as requested.
    struct Request: Sendable {
        /// The first and the last day, such as `2026-11-22`; nil for the last 30 days.
        var from: String?
        var to: String?
        var interval: Interval
        /// Nil for the space's time zone.
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
    /// The start of each interval and the end of the last, in seconds since 1970. The first and the last interval are
    /// shorter if the span does not begin or end at an interval's bounds.
    let bounds: [Int]
    /// The bounds as days since 1970 in the time zone.
    let days: [Int]
    /// The name of each interval: its first day, or its hour with the offset from UTC.
    let labels: [String]
    /// The time up to which events are rolled up.
    let asOf: Date?
    /// The time zone of rolled-up days; nil while they are rebuilt.
    let rolledTimeZone: String?

    /// Whether intervals consist of whole hours of UTC.
    var hasWholeHours: Bool { bounds.allSatisfy { $0 % 3_600 == 0 } }

    /// Whether intervals consist of rolled-up days.
    var hasRolledDays: Bool { interval != .hour && timeZone == rolledTimeZone }

    var start: Date { Date(timeIntervalSince1970: Double(bounds.first ?? 0)) }
    var end: Date { Date(timeIntervalSince1970: Double(bounds.last ?? 0)) }

    /// The bounds as hours since 1970; only valid if `hasWholeHours`.
    var hours: [Int] { bounds.map { $0 / 3_600 } }
    /// The bounds as quarters of an hour since 1970.
    var quarters: [Int] { bounds.map { $0 / 900 } }
}
