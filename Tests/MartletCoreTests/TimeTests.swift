import Foundation
import Testing

@testable import MartletCore

@Suite struct TimeTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-22T08:48:59Z", 1_795_337_339),
            ("2026-11-22T08:48:59.5Z", 1_795_337_339.5),
            ("2026-11-22T09:48:59+01:00", 1_795_337_339), ("2026-11-21T22:48:59-10:00", 1_795_337_339),
            ("1970-01-01T00:00:00-00:00", 0),
            ("2024-02-29T00:00:00Z", 1_709_164_800), ("2000-02-29T00:00:00Z", 951_782_400),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("9999-12-31T23:59:59Z", 253_402_300_799), ("1582-10-10T00:00:00Z", -12_219_724_800),
            ("1970-01-01T00:00:00.000000001999Z", 0.000_000_001),
            ("1970-01-01T15:59:00+15:59", 0),
        ] as [(String, Double)]) func `times are read in the format of RFC 3339`(_ text: String, _ seconds: Double)
        throws
    {
        let date = try #require(Date(rfc3339: text))
        #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_001)
        #expect(Date(rfc3339: date.rfc3339).map { abs($0.timeIntervalSince(date)) < 0.001 } == true)
    }

    @Test(arguments: [
        "", "2026", "2026-11-22", "2026-02-30T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T25:00:00Z", "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z", "2016-12-31T23:59:60Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Zx", "2026-01-01T00:00:00Z\n", "2026-01-01T00:00:00Z\0", "2026-01-01 00:00:00Z",
        "2026-01-01t00:00:00z",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00Z", "2026-01-01T00:00:00+01",
        "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00+16:00", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60",
        "2026-01-01T00:00:00 +01:00", "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z", "292277-01-01T00:00:00Z", "294277-01-01T00:00:00Z", "-001-01-01T00:00:00Z",
        "+2026-01-01T00:00:00Z", "26-01-01T00:00:00Z",
        "2026-1-1T00:00:00Z", "2026-W01-1T00:00:00Z", "20260101T000000Z", "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "２０２６-01-01T00:00:00Z", "now", "today", "infinity", "-infinity", "epoch", "1795337339",
        "2026-01-01T00:00:00Europe/Berlin",
        "2026-01-01T00:00:00." + String(repeating: "0", count: 60) + "Z",
    ]) func `times in other formats are refused`(_ text: String) {
        #expect(Date(rfc3339: text) == nil)
    }

    @Test func `times are written in UTC with milliseconds, and survive a round trip`() {
        #expect(Date(timeIntervalSince1970: 1_795_337_339.678).rfc3339 == "2026-11-22T08:48:59.678Z")
        #expect(Date(timeIntervalSince1970: -0.322).rfc3339 == "1969-12-31T23:59:59.678Z")
        #expect(Date(rfc3339: "1500-02-28T12:00:00Z")?.rfc3339 == "1500-02-28T12:00:00.000Z")
        #expect(Date(timeIntervalSince1970: 1e300).rfc3339 == "9999-12-31T23:59:59.999Z")
        #expect(Date(timeIntervalSince1970: -1e300).rfc3339 == "0001-01-01T00:00:00.000Z")
    }

    @Test func `every day of the years 1 to 9999 has the right number and text`() {
        for days in stride(from: -719_162, through: 2_932_896, by: 7) {
            let day = CalendarDay(daysSince1970: days)
            guard day.daysSince1970 == days, CalendarDay(day.text) == day else {
                Issue.record("\(days) is \(day)")
                return
            }
        }
    }

    @Test(arguments: [
        "2026-02-29", "2026-11-22T", "2026-11-2", "2026/11/22", "0000-01-01", "2026-11-31", " 2026-11-22", "",
    ])
    func `days that are not in the calendar are refused`(_ text: String) {
        #expect(CalendarDay(text) == nil)
    }

    @Test(arguments: [
        "posixrules", "localtime", "Factory", "posix/Europe/Berlin", "right/Europe/Berlin", "GMT+5", "UTC+3",
        "GMT+0530", "PST", "europe/berlin",
        "Europe/berlin", "Asia/\u{212a}olkata", "EST5", "<+03>-3", "/etc/localtime", "../UTC", "", "SystemV/EST5",
        "Europe/Berlin ",
    ]) func `unknown IANA time zones are refused`(_ name: String) {
        #expect(TimeZone(iana: name) == nil)
    }

    @Test func `all IANA zones and links are known`() {
        #expect(TimeZone.ianaNames.count == 597)
        for name in TimeZone.ianaNames { #expect(TimeZone(iana: name) != nil, "\(name)") }
        for name in ["UTC", "Europe/Zurich", "Asia/Calcutta", "US/Pacific", "Etc/GMT+5", "America/Argentina/Ushuaia"] {
            #expect(TimeZone(iana: name) != nil, "\(name)")
        }
    }
}
