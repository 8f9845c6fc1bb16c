import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct TBAnalyticsExceptionTests {
    @Test func `Exceptions can be posted in the TBAnalytics format and read by the app's server`() async throws {
        try await AnalyticsApp.run { app in
            let posted = try await app.client(
                "POST", "/thesis/exceptions",
                #"{"level":"Error","name":"NSRangeException","reason":"index 5 beyond bounds","message":"load failed","method":"load()","file":"View.swift","line":12,"tags":{"lang":"en"},"configVersion":"3"}"#
            )
            #expect(posted.status == 200 && posted["_id"]?.count == 34, "\(posted)")
            #expect(
                try await app.client(
                    "POST", "/thesis/exceptions", #"[{"level":"Info","message":"a"},{"level":"Debug","message":"b"}]"#)[
                        "count"] == "2")
            #expect(
                try await app.rows(
                    "SELECT kind, title, culprit, level FROM analytics.issues WHERE space = % ORDER BY level DESC")
                    == [
                        "error|NSRangeException: index 5 beyond bounds|load() in View.swift|4", "message|a||2",
                        "message|b||1",
                    ])
            let read = try await app.master("GET", "/thesis/exceptions")
            #expect(
                read["count"] == "3" && read["data.2.level"] == "\"Error\""
                    && read["data.2.name"] == "\"NSRangeException\"" && read["data.2.configVersion"] == "\"3\"",
                "\(read)")
            #expect(
                read["data.2._id"] == posted["_id"] && read["data.2.stackSymbols.0"] == "\"load()\""
                    && read["data.2.caught"] == "true")
            // Times in responses have a fixed form.
            for name in ["created", "timeStamp"] {
                #expect(
                    read["data.2.\(name)"]?.contains(/^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"$/) == true, "\(read)")
            }
            #expect(try await app.master("GET", "/thesis/exceptions?skip=1&limit=1")["count"] == "1")
        }
    }

    @Test func `A list that exceeds the minute's quota is refused as a whole`() async throws {
        var options = AnalyticsOptions()
        options.crashes.quota.errors = 2
        try await AnalyticsApp.run(options) { app in
            let list = "[" + Array(repeating: #"{"message":"a"}"#, count: 3).joined(separator: ",") + "]"
            let answer = try await app.client("POST", "/thesis/exceptions", list)
            #expect(
                answer.isProblem(.tooManyRequests)
                    && answer["detail"] == #""event submission rejected due to rate limits""#, "\(answer)")
            #expect(answer.header("Retry-After").flatMap { Int($0) }.map { (1...60).contains($0) } == true)
            #expect(app.isSpoolEmpty)
        }
    }

    @Test func `Invalid exceptions are refused, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            let cut = try await app.client("POST", "/thesis/exceptions", "{")
            #expect(cut.isProblem(.invalidJSON))
            #expect(try await app.client("POST", "/thesis/exceptions", "5").isProblem(.invalidBody))
            #expect(try await app.client("POST", "/thesis/exceptions", #"[{"message":"a"},5]"#).isProblem(.invalidBody))
            #expect(
                try await app.client(
                    "POST", "/thesis/exceptions", "[" + Array(repeating: "{}", count: 101).joined(separator: ",") + "]"
                ).isProblem(.limitExceeded))
            #expect(try await app.ingest("POST", "/thesis/exceptions", "{}").isProblem(.forbidden))
            #expect(try await app.client("GET", "/thesis/exceptions").isProblem(.forbidden))
            #expect(
                try await app.master("GET", "/thesis/exceptions?limit=101").isProblem(.invalidParameter, field: "limit")
            )
            #expect(
                try await app.master("GET", "/thesis/exceptions?page=1").isProblem(.invalidParameter, field: "page"))
            #expect(app.isSpoolEmpty)
        }
    }
}
