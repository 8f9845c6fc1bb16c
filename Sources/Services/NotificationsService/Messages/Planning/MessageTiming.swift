import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// When each device gets a message, beside when the message is due.
///
/// As JSON
/// `{"localTime":"2026-12-24T18:00","timeZone":"Europe/Berlin","quietHours":{"from":"22:00","to":"07:00"},"cap":{"count":3,"seconds":86400}}`.
struct MessageTiming: Sendable, Equatable {
    /// In which no device is to be disturbed, in minutes of its day; over midnight where `from` is the greater one.
    struct QuietHours: Sendable, Equatable {
        var from: Int
        var to: Int

        func contains(_ minute: Int) -> Bool {
            from < to ? (from..<to).contains(minute) : minute >= from || minute < to
        }
    }

    /// A device that has had so many pushes gets this one not at all.
    struct Cap: Sendable, Equatable {
        var count: Int
        var seconds: Int
    }

    /// Each device gets it when its own clock shows this; at once where that is over.
    var localTime: LocalTime?
    /// Of devices that do not say where they are.
    var timeZone: TimeZone = .gmt
    /// What falls into them waits for their end.
    var quietHours: QuietHours?
    var cap: Cap?

    init() {}

    /// - Throws: `invalid-body`.
    init(_ json: JSONValue) throws {
        let fields = try BodyFields(json, ["localTime", "timeZone", "quietHours", "cap"])
        if let text = try fields.string("localTime") {
            guard let time = LocalTime(text) else {
                throw HTTPProblem(
                    .invalidBody, "This must be a time without zone, such as 2026-12-24T18:00.", field: "localTime")
            }
            localTime = time
        }
        if let name = try fields.string("timeZone") {
            guard let zone = TimeZone(iana: name) else {
                throw HTTPProblem(.invalidBody, "This is not a time zone, such as Europe/Berlin.", field: "timeZone")
            }
            timeZone = zone
        }
        if let quiet = fields.object("quietHours") {
            let fields = try BodyFields(quiet, ["from", "to"])
            let hours = QuietHours(from: try fields.minute("from"), to: try fields.minute("to"))
            guard hours.from != hours.to else {
                throw HTTPProblem(.invalidBody, "Quiet hours begin and end at different times.", field: "quietHours")
            }
            quietHours = hours
        }
        if let json = fields.object("cap") {
            let fields = try BodyFields(json, ["count", "seconds"])
            guard let count = try fields.integer("count", in: 1...1_000),
                let seconds = try fields.integer("seconds", in: 60...31 * 86_400)
            else {
                throw HTTPProblem(.invalidBody, "A cap has count and seconds.", field: "cap")
            }
            cap = Cap(count: count, seconds: seconds)
        }
    }

    /// Of a device that says it is in the named one.
    func zone(_ name: String?) -> TimeZone { name.flatMap { TimeZone(identifier: $0) } ?? timeZone }

    /// When a device that is in its quiet hours may be disturbed; nil: it may be now.
    func endOfQuiet(at date: Date, in zone: TimeZone) -> Date? {
        guard let quietHours else { return nil }
        let wall = LocalTime(of: date, in: zone)
        guard quietHours.contains(wall.minuteOfDay) else { return nil }
        let minutes = (quietHours.to - wall.minuteOfDay + 1_440) % 1_440
        let end = LocalTime(seconds: wall.seconds - wall.seconds % 60 + minutes * 60).date(in: zone)
        return end > date ? end : nil
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = []
        if let localTime { members.append(.init("localTime", .string(localTime.text))) }
        if timeZone != .gmt { members.append(.init("timeZone", .string(timeZone.identifier))) }
        if let quietHours {
            let (from, to) = (Self.clock(quietHours.from), Self.clock(quietHours.to))
            members.append(.init("quietHours", .object([.init("from", .string(from)), .init("to", .string(to))])))
        }
        if let cap {
            members.append(
                .init(
                    "cap",
                    .object([.init("count", .number("\(cap.count)")), .init("seconds", .number("\(cap.seconds)"))])))
        }
        return .object(members)
    }

    private static func clock(_ minute: Int) -> String {
        [minute / 60, minute % 60].map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
    }
}

extension BodyFields {
    fileprivate func minute(_ name: String) throws -> Int {
        let text = try requiredString(name)
        guard let match = text.wholeMatch(of: /([01][0-9]|2[0-3]):([0-5][0-9])/), let hour = Int(match.1),
            let minute = Int(match.2)
        else {
            throw HTTPProblem(.invalidBody, "This must be a time of the day, such as 22:00.", field: name)
        }
        return hour * 60 + minute
    }
}

/// When each device gets a message: worked out once for each time zone.
struct DeviceClock {
    private static let maximumZones = 1_000

    private let due: Date
    private let timing: MessageTiming
    private var known: [String: Date] = [:]

    /// - Parameter due: when devices get it that have no time of their own.
    init(due: Date, timing: MessageTiming) {
        self.due = due
        self.timing = timing
    }

    mutating func due(in zone: String?) -> Date {
        let name = zone ?? ""
        if let known = known[name] { return known }
        let date = moment(in: timing.zone(zone))
        if known.count < Self.maximumZones { known[name] = date }
        return date
    }

    private func moment(in zone: TimeZone) -> Date {
        let wanted = max(timing.localTime?.date(in: zone) ?? due, due)
        return timing.endOfQuiet(at: wanted, in: zone) ?? wanted
    }
}
