import Foundation
import MartletAPI
import MartletFiles
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct IssueReportTests {
    @Test func `an issue shows its newest report, and each report links to the next`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let release = try await data.release("app@1.0+1")
            let (one, other) = (try await data.issue(1), try await data.issue(2))
            let first = try await data.report(
                one, received: CrashData.day(1), at: CrashData.day(0.5), release: release, message: "a")
            // Received at the same time, so ordered by when they were stored.
            let second = try await data.report(
                one, received: CrashData.day(2), level: .fatal, configuration: "12", variants: "checkout=dark",
                message: "b",
                content:
                    #"{"exception":{"values":[{"type":"E","stacktrace":{"frames":[{"function":"main"}]}}]},"breadcrumbs":{"values":[]},"n":1.50}"#
            )
            let third = try await data.report(one, received: CrashData.day(2), message: "c", content: #"{"last":true}"#)
            let foreign = try await data.report(other)

            let issue = try await app.master("GET", "/crashes/issues/1")
            #expect(
                issue["number"] == "1" && issue["newestReport.id"] == "\"\(third.reportID)\""
                    && issue["newestReport.content.last"] == "true")
            let middle = try await app.master("GET", "/crashes/issues/1/reports/\(second.reportID)")
            #expect(
                middle["previous"] == "\"\(first.reportID)\"" && middle["next"] == "\"\(third.reportID)\""
                    && middle["level"] == "\"fatal\"")
            #expect(
                middle["content.exception.values.0.stacktrace.frames.0.function"] == "\"main\""
                    && middle["content.n"] == "1.50")
            #expect(
                middle["configuration"] == "\"12\"" && middle["variants"] == "\"checkout=dark\""
                    && middle["release"] == "null")
            let oldest = try await app.master("GET", "/crashes/issues/1/reports/oldest")
            #expect(
                oldest["id"] == "\"\(first.reportID)\"" && oldest["previous"] == "null"
                    && oldest["release"] == "\"app@1.0+1\"")
            #expect(
                oldest["time"] == "\"2026-11-01T12:00:00.000Z\"" && oldest["received"] == "\"2026-11-02T00:00:00.000Z\""
            )
            #expect(oldest["attachments"] == "[]" && oldest["feedback"] == "[]")
            #expect(try await app.master("GET", "/crashes/issues/1/reports/newest")["next"] == "null")
            // The id may also be a UUID.
            #expect(try await app.master("GET", "/crashes/issues/1/reports/\(first.uuidString)")["message"] == "\"a\"")
            for report in [foreign.reportID, "0", "latest", UUID().reportID] {
                #expect(try await app.master("GET", "/crashes/issues/1/reports/\(report)").isProblem(.reportNotFound))
            }
            #expect(try await app.master("GET", "/crashes/issues/3").isProblem(.issueNotFound))
            try await data.issue(3)
            #expect(try await app.master("GET", "/crashes/issues/3")["newestReport"] == "null")
        }
    }

    @Test func `reports are listed in pages, newest first`() async throws {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let issue = try await data.issue(1)
            for number in 0..<10 {
                try await data.report(
                    issue, received: CrashData.day(Double(number / 3) + 0.000_001), message: "\(number)")
            }
            var (messages, cursor) = ([String](), "")
            for _ in 0..<4 {
                let page = try await app.master("GET", "/crashes/issues/1/reports?limit=4\(cursor)")
                messages += page.each("message")
                guard let next = page["next"] else { break }
                cursor = "&cursor=" + next.dropFirst().dropLast()
            }
            #expect(messages == (0..<10).reversed().map { "\"\($0)\"" })
            #expect(
                try await app.master("GET", "/crashes/issues/1/reports?cursor=a").isProblem(
                    .invalidParameter, field: "cursor"))
        }
    }

    @Test
    func `feedback and attachments are shown with their report, and attachments can only be downloaded`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let data = try await CrashData(app)
            let issue = try await data.issue(1)
            let report = try await data.report(issue)
            let file = try await Attached(data, report, in: app, "<script>")
            try await app.postgres.execute(
                """
                INSERT INTO analytics.crash_feedback (space, feedback_id, event_id, name, email, message, received)
                VALUES (\(data.space), \(UUID()), \(report), 'Ada', 'ada@example.com', 'It broke', now())
                """)
            let answer = try await app.master("GET", "/crashes/issues/1/reports/newest")
            #expect(
                answer["feedback.0.message"] == "\"It broke\"" && answer["attachments.0.size"] == "8"
                    && answer["attachments.0.name"] == "\"a.html\"")
            let path = "/crashes/issues/1/reports/\(report.reportID)/attachments"
            let attachment = try await app.master("GET", "\(path)/\(file.id)")
            #expect(attachment.text == "<script>" && attachment.header("Content-Type") == "application/octet-stream")
            #expect(
                attachment.header("X-Content-Type-Options") == "nosniff"
                    && attachment.header("Content-Disposition")?.hasPrefix("attachment;") == true)
            for place in ["newest", "oldest"] {
                #expect(
                    try await app.master("GET", "/crashes/issues/1/reports/\(place)/attachments/\(file.id)").text
                        == "<script>")
            }
            #expect(try await app.master("GET", "\(path)/\(file.id + 1)").isProblem(.fileNotFound))
            try await data.issue(2)
            #expect(
                try await app.master("GET", "/crashes/issues/2/reports/\(report.reportID)/attachments/\(file.id)")
                    .isProblem(.fileNotFound))
        }
    }
}

/// An attachment and its blob.
struct Attached: Sendable {
    let id: Int64
    let blob: BlobName

    init(_ data: CrashData, _ report: UUID, in app: AnalyticsApp, _ text: String) async throws {
        blob = .random(in: "crash_\(data.space)")
        let content = AsyncStream<ByteBuffer> { continuation in
            continuation.yield(ByteBuffer(string: text))
            continuation.finish()
        }
        _ = try await app.service.crashes.tracking.removal.files.write(content, to: blob, limitInBytes: 1_000)
        id = try await data.postgres.query(
            """
            INSERT INTO analytics.crash_attachments (space, event_id, blob, name, content_type, kind, size, received)
            VALUES (\(data.space), \(report), \(blob.id), 'a.html', 'text/html', 'event.attachment', \(text.utf8.count), now()) RETURNING id
            """)[0].decode(0)
    }

    func exists(in app: AnalyticsApp) async -> Bool {
        (try? await app.service.crashes.tracking.removal.files.read(blob, in: 0..<1) { _ in }) != nil
    }
}
