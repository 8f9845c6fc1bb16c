import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// Adjusts the delivery time of a message for each device.
///
///     {"localTime":"2026-12-24T18:00","timeZone":"Europe/Berlin",
///      "quietHours":{"from":"22:00","to":"07:00"},"cap":{"count":3,"seconds":86400}}
struct MessageTiming: Sendable, Equatable {
    /// The time during which devices are not disturbed, in minutes of the device's day. Spans midnight if `from` is
    /// greater than `to`.
    struct QuietHours: Sendable, Equatable {
        var from: Int
        var to: Int

        func contains(_ minute: Int) -> Bool {
            from < to ? (from..<to).contains(minute) : minute >= from || minute < to
        }
    }

    /// A device that has had `count` pushes within `seconds` does not get the message.
    struct Cap: Sendable, Equatable {
        var count: Int
        var seconds: Int
    }

    /// Delivers when the device's clock shows this time, or at once if it has passed.
    var localTime: LocalTime?
    /// Applies to devices that do not report a time zone.
    var timeZone: TimeZone = .gmt
    /// Deliveries due during quiet hours wait for their end.
    var quietHours: QuietHours?
    var cap: Cap?

    init() {}

    /// - Throws: `invalid-body`.
    init(_ json: JSONValue) throws {
        let fields = try BodyFields(json, ["localTime", "timeZone", "quietHours", "cap"])
        if let text = try fields.string("localTime") {
            guard let time = LocalTime(text) else {
                throw ServiceError(
                    .invalidBody, "Expected a time without zone, such as 2026-12-24T18:00.", field: "localTime")
            }
            localTime = time
        }
        if let name = try fields.string("timeZone") {
            guard let zone = TimeZone(iana: name) else {
                throw ServiceError.unexpectedMember(
                    "timeZone", expected: "an IANA time zone, such as Europe/Berlin", found: name)
            }
            timeZone = zone
        }
        if let quiet = fields.object("quietHours") {
            let fields = try BodyFields(quiet, ["from", "to"])
            let hours = QuietHours(from: try fields.minute("from"), to: try fields.minute("to"))
            guard hours.from != hours.to else {
                throw ServiceError(
                    .invalidBody, "Quiet hours must begin and end at different times.", field: "quietHours")
            }
            quietHours = hours
        }
        if let json = fields.object("cap") {
            let fields = try BodyFields(json, ["count", "seconds"])
            guard let count = try fields.integer("count", in: 1...1_000),
                let seconds = try fields.integer("seconds", in: 60...31 * 86_400)
            else {
                throw ServiceError(
                    .invalidBody, "A cap must have count (1 to 1000) and seconds (60 to 31 days).", field: "cap")
            }
            cap = Cap(count: count, seconds: seconds)
        }
    }

    /// The time zone of a device that reports the given name.
    func zone(_ name: String?) -> TimeZone { name.flatMap { TimeZone(identifier: $0) } ?? timeZone }

    /// The end of quiet hours if `date` falls into them; nil otherwise.
    func endOfQuietHours(at date: Date, in zone: TimeZone) -> Date? {
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
            throw ServiceError.unexpectedMember(name, expected: "a time of the day, such as 22:00", found: text)
        }
        return hour * 60 + minute
    }
}

/// Computes when each device gets a message, once per time zone.
struct DeviceClock {
    private static let maximumZones = 1_000

    private let due: Date
    private let timing: MessageTiming
    private var known: [String: Date] = [:]

    /// - Parameter due: The earliest delivery, and the time for devices without a local time.
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
        return timing.endOfQuietHours(at: wanted, in: zone) ?? wanted
    }
}
