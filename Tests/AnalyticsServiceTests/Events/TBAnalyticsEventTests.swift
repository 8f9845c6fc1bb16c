import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService
@testable import AnalyticsShared

@Suite struct TBAnalyticsEventTests {
    /// The example of the thesis's figure 5.25, with the tags that its text names.
    private static let object =
        #"{"type":"Generic","timeStamp":"\#(time)","className":"DayTableViewCellController","fileName":"/Users/t/DIT-Timetable-iOS/Day.swift","method":"tableViewDidSelect:","configVersion":"1.2","tags":{"buildVersion":"2.1","OSVersion":"10.2","deviceMake":"Apple","deviceModel":"iPhone"}}"#
    private static let time = (Date() - 7_200).ISO8601Format(.init(dateTimeSeparator: .standard)).dropLast()

    @Test func `an event of TBAnalytics is stored and answered as an object`() async throws {
        try await AnalyticsApp.run { app async throws in
            let user = "0193a000-0000-7000-8000-00000000000f"
            let answer = try await app.client("POST", "/thesis/events", Self.object, user: user)
            #expect(
                answer.status == 201 && answer["className"] == #""DayTableViewCellController""#
                    && answer["deleted"] == "null", "\(answer)")
            #expect(
                answer["_id"] != nil && answer["created"] != nil && answer["_version"] == "1"
                    && answer["tags.OSVersion"] == #""10.2""#)
            let event = try #require(try await app.events().first)
            #expect(
                event.kind == 1 && event.name == "Generic" && event.configuration == "1.2" && event.release == "2.1")
            let person = Person.account(user, in: try await app.space)
            #expect(event.os == "10.2" && event.device == "Apple iPhone" && event.person == person)
            let sent = try Date("\(Self.time)Z", strategy: .iso8601)
            #expect(abs(event.at.timeIntervalSince(sent)) < 2)
            #expect(event.properties.contains("DayTableViewCellController") && !event.properties.contains("timeStamp"))
        }
    }

    @Test func `an opened view is a screen`() async throws {
        try await AnalyticsApp.run { app async throws in
            for type in ["View", "Open View", "view_opened"] {
                #expect(
                    try await app.client("POST", "/thesis/events", #"{"type":"\#(type)","className":"Home"}"#).status
                        == 201)
            }
            #expect(try await app.client("POST", "/thesis/events", #"{"type":"OpenApp"}"#).status == 201)
            #expect(try await app.client("POST", "/thesis/events", "{}").status == 201)
            let events = try await app.events().sorted { $0.name! < $1.name! }
            #expect(
                events.map(\.name) == ["Generic", "Home", "Home", "Home", "OpenApp"]
                    && events.map(\.kind) == [1, 2, 2, 2, 1])
        }
    }

    @Test func `a repeated _id changes nothing`() async throws {
        try await AnalyticsApp.run { app async throws in
            for _ in 0..<2 {
                let answer = try await app.client("POST", "/thesis/events", #"{"_id":"a1","type":"x"}"#)
                #expect(answer.status == 201 && answer["_id"] == #""a1""#)
            }
            #expect(try await app.count("analytics.events") == 1)
        }
    }

    static let wrong: [(String, String?)] = [
        ("[]", nil), (#"{"timeStamp":"x"}"#, "timeStamp"), (#"{"type":[]}"#, "type"), (#"{"type":{}}"#, "type"),
        (#"{"_id":"\#(String(repeating: "x", count: 513))"}"#, "_id"), (#"{"fileName":{}}"#, "fileName"),
        (#"{"method":["a"]}"#, "method"),
        (#"{"method":true}"#, "method"), (#"{"configVersion":{}}"#, "configVersion"),
        (#"{"className":[]}"#, "className"), (#"{"tags":"x"}"#, "tags"),
        (#"{"tags":[1]}"#, "tags"), (#"{"tags":7}"#, "tags"), (#"{"timeStamp":"2026-02-30T00:00:00Z"}"#, "timeStamp"),
        (#"{"type":"a","type":"b"}"#, nil),
    ]

    @Test(arguments: wrong)
    func `an invalid event is refused by its field`(_ body: String, _ field: String?) async throws {
        try await AnalyticsApp.run { app async throws in
            #expect(try await app.client("POST", "/thesis/events", body).isProblem(.invalidBody, field: field))
            #expect(try await app.client("POST", "/thesis/events", "{").isProblem(.invalidJSON))
            #expect(try await app.ingest("POST", "/thesis/events", "{}").isProblem(.forbidden))
            #expect(try await app.count("analytics.events") == 0)
        }
    }

    @Test func `only the app's own server can read events, page by page`() async throws {
        try await AnalyticsApp.run { app async throws in
            #expect(try await app.client("POST", "/thesis/events", Self.object).status == 201)
            for number in 0..<5 { try await app.batch(track("e\(number)", #","properties":{"n":\#(number)}"#)) }
            let all = try await app.master("GET", "/thesis/events")
            #expect(all.status == 200 && all["count"] == "6" && all["next"] == nil && all["data.0.n"] == "4", "\(all)")
            #expect(
                all["data.5.type"] == #""Generic""# && all["data.5.tags.OSVersion"] == #""10.2""#
                    && all["data.5.configVersion"] == #""1.2""#)
            var (ids, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await app.master(
                    "GET", "/thesis/events?limit=2" + (cursor.map { "&cursor=" + $0 } ?? ""))
                ids += page.ids
                cursor = page.json?["next"]?.scalar
            } while cursor != nil
            #expect(ids == all.ids && Set(ids).count == 6)
            let future = (Date() + 3_600).ISO8601Format()
            #expect(try await app.master("GET", "/thesis/events?from=\(future)&to=\(future)")["count"] == "0")
            #expect(
                try await app.master("GET", "/thesis/events?from=2026-01-01T00:00:00Z").isProblem(
                    .invalidParameter, field: "from"))
            for cursor in [
                "x", "9223372036854775807_1", "7fffffffffffffff0000000000000001", "+000000000000001+000000000000001",
            ] {
                let answer = try await app.master("GET", "/thesis/events?cursor=" + cursor)
                #expect(answer.isProblem(.invalidParameter, field: "cursor"), "\(answer)")
            }
            #expect(
                try await app.master("GET", "/thesis/events?limit=1001").isProblem(.invalidParameter, field: "limit"))
            #expect(try await app.master("GET", "/thesis/events?where=x").isProblem(.invalidParameter, field: "where"))
            #expect(
                try await app.client("GET", "/thesis/events", user: "0193a000-0000-7000-8000-00000000000f").isProblem(
                    .forbidden))
        }
    }
}
