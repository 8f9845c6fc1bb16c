import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// The times at which a rule acts.
enum Schedule: Sendable, Equatable {
    /// Multiples of this many minutes since 1970.
    case every(minutes: Int)
    case cron(CronExpression, TimeZone)

    /// - Parameter every: `{"minutes":n}`, at most four weeks.
    /// - Throws: `invalid-body`.
    init(every: JSONValue) throws {
        guard let fields = try? BodyFields(every, ["minutes"]),
            let minutes = try? fields.integer("minutes", in: 1...40_320)
        else {
            throw ServiceError(.invalidBody, #"Expected {"minutes":1…40320}."#, field: "when.every")
        }
        self = .every(minutes: minutes)
    }

    /// - Parameter timeZone: An IANA name; nil means UTC.
    /// - Throws: `invalid-body`.
    init(cron text: String, timeZone: String?) throws {
        guard let expression = CronExpression(text) else {
            throw ServiceError(
                .invalidBody, "Expected minute, hour, day, month and weekday, such as 0 8 * * 1-5.",
                field: "when.cron")
        }
        guard let zone = TimeZone(iana: timeZone ?? "UTC") else {
            throw ServiceError.unexpectedMember(
                "when.timeZone", expected: "an IANA time zone, such as Europe/Berlin", found: timeZone ?? "")
        }
        self = .cron(expression, zone)
        // A fixed time, so that the answer does not depend on when the schedule is read.
        guard next(after: Date(timeIntervalSince1970: 1_780_000_000)) != nil else {
            throw ServiceError(.invalidBody, "This never matches a date.", field: "when.cron")
        }
    }

    /// The next time; nil if there is none.
    func next(after time: Date) -> Date? {
        switch self {
        case .every(let minutes):
            let step = Double(minutes * 60)
            return Date(timeIntervalSince1970: ((time.timeIntervalSince1970 / step).rounded(.down) + 1) * step)
        case .cron(let expression, let zone): return expression.next(after: time, in: zone)
        }
    }
}
