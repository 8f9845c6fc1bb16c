import Foundation
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct EventTimeTests {
    static let good: [(String, Double)] = [
        ("1970-01-01T00:00:00Z", 0), ("2026-11-22T09:30:04Z", 1_795_339_804),
        ("2026-11-22T09:30:04.250Z", 1_795_339_804.25),
        // As Python writes it.
        ("2026-11-22T09:30:04.123456+00:00", 1_795_339_804.123456), ("2026-11-22T10:30:04+01:00", 1_795_339_804),
        ("2026-11-22T04:00:04-0530", 1_795_339_804), ("2026-11-22T10:30:04+01", 1_795_339_804),
        ("2026-11-22 09:30:04", 1_795_339_804),
        ("2026-11-22T09:30", 1_795_339_800), ("2026-11-22", 1_795_305_600), ("2024-02-29T12:00:00Z", 1_709_208_000),
        ("1969-12-31T23:59:59Z", -1), ("2000-03-01T00:00:00Z", 951_868_800), ("2016-12-31T23:59:60Z", 1_483_228_800),
        ("2026-11-22T09:30:04.1234567891Z", 1_795_339_804.123456789),
        // As the original TBAnalytics server and Foundation's `Date` write it.
        ("2026-11-22 09:30:04 GMT", 1_795_339_804), ("2026-11-22 09:30:04 UTC", 1_795_339_804),
        ("2026-11-22 10:30:04 +0100", 1_795_339_804),
        ("2026-11-22 09:30:04.5 +0000", 1_795_339_804.5),
    ]

    @Test(arguments: good)
    func `times are read in every form that ISO 8601 allows`(_ text: String, _ seconds: Double) {
        let date = EventTime.date(text)
        #expect(date != nil && abs(date!.timeIntervalSince1970 - seconds) < 1e-6, "\(text)")
    }

    @Test(arguments: [
        "", "now", "2026", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-32T00:00:00Z",
        "2026-02-29T00:00:00Z", "2026-04-31", "2100-02-29", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+", "2026-01-01T00:00:00Z ",
        "2026-01-01T00:00:00 ", "2026-01-01 00:00:00 EST", "2026-01-01 00:00:00 GMT+1", "2026-01-01X00:00:00",
        "1763803804",
        "-2026-01-01", "２０２６-01-01",
    ])
    func `invalid times are refused`(_ text: String) {
        #expect(EventTime.date(text) == nil)
    }

    @Test func `every day of four hundred years agrees with Foundation`() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        for day in stride(from: -20_000, to: 126_000, by: 7) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let text = String(format: "%04d-%02d-%02d", parts.year!, parts.month!, parts.day!)
            #expect(EventTime.date(text) == date, "\(text)")
        }
    }
}
