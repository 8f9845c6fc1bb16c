import Foundation
import MartletCore
import MartletHTTP
import Testing

@testable import NotificationsService

struct MessageTimingTests {
    @Test(arguments: [
        ("Europe/Berlin", "2026-12-24T17:00:00Z"), ("America/New_York", "2026-12-24T23:00:00Z"),
        ("Asia/Kolkata", "2026-12-24T12:30:00Z"),
        ("Pacific/Kiritimati", "2026-12-24T04:00:00Z"), ("Nowhere/Land", "2026-12-24T18:00:00Z"),
    ])
    func `a local time is a different instant in each time zone`(_ zone: String, _ moment: String) throws {
        let timing = try MessageTiming(try JSONValue(parsing: #"{"localTime":"2026-12-24T18:00"}"#.utf8))
        var clock = DeviceClock(due: Date(timeIntervalSince1970: 0), timing: timing)
        #expect(clock.due(in: zone) == Date(rfc3339: moment))
        #expect(clock.due(in: zone) == Date(rfc3339: moment))
    }

    @Test(arguments: [
        // Summer time begins at 2:00, so 2:30 does not exist on this day.
        ("2026-03-29T02:30", "2026-03-29T01:30:00Z"), ("2026-03-29T03:30", "2026-03-29T01:30:00Z"),
        ("2026-03-28T12:00", "2026-03-28T11:00:00Z"),
        ("2026-07-01T12:00", "2026-07-01T10:00:00Z"),
    ])
    func `summer time is respected`(_ local: String, _ moment: String) throws {
        #expect(LocalTime(local)?.date(in: TimeZone(identifier: "Europe/Berlin")!) == Date(rfc3339: moment))
    }

    @Test(arguments: [
        "2026-02-30T10:00", "2026-02-10", "2026-02-10T10:00Z", "10:00", "2026-13-01T10:00", "2026-02-10T25:00",
    ])
    func `invalid local times are refused`(_ text: String) {
        #expect(LocalTime(text) == nil)
    }

    @Test(arguments: [
        ("2026-11-22T21:30:00Z", "2026-11-23T06:00:00Z"), ("2026-11-22T05:59:30Z", "2026-11-22T06:00:00Z"),
        ("2026-11-22T06:00:00Z", "2026-11-22T06:00:00Z"),
        ("2026-11-22T20:59:59Z", "2026-11-22T20:59:59Z"),
    ])
    func `times within quiet hours are moved to their end`(_ due: String, _ moment: String) throws {
        let timing = try MessageTiming(try JSONValue(parsing: #"{"quietHours":{"from":"22:00","to":"07:00"}}"#.utf8))
        var clock = DeviceClock(due: Date(rfc3339: due)!, timing: timing)
        #expect(clock.due(in: "Europe/Berlin") == Date(rfc3339: moment))
    }

    @Test(arguments: [
        (#"{"localTime":"tomorrow"}"#, "localTime"), (#"{"quietHours":{"from":"22","to":"07:00"}}"#, "from"),
        (#"{"cap":{"count":0,"seconds":60}}"#, "count"),
        (#"{"quietHours":{"from":"22:00","to":"22:00"}}"#, "quietHours"), (#"{"timeZone":"Moon"}"#, "timeZone"),
        (#"{"zone":"UTC"}"#, "zone"),
    ])
    func `invalid timings are refused by name`(_ json: String, _ field: String) throws {
        do {
            _ = try MessageTiming(try JSONValue(parsing: json.utf8))
            Issue.record("accepted: \(json)")
        } catch let problem as ServiceError {
            #expect(problem.field == field)
        }
    }

    @Test func `a stored timing is read again`() throws {
        let text =
            #"{"localTime":"2026-12-24T18:00","timeZone":"Europe/Berlin","quietHours":{"from":"22:05","to":"07:00"},"cap":{"count":3,"seconds":86400}}"#
        #expect(try MessageTiming(try JSONValue(parsing: text.utf8)).json.text == text)
    }
}
