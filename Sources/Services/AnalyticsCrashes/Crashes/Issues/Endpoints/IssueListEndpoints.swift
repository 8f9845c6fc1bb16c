import AnalyticsShared
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// An issue that moves in the order between two requests may appear on both pages or on neither.
struct ListIssues: Endpoint {
    static let route = Route(
        .get, "/crashes/issues", "listIssues", "Lists the app's issues.", callers: .manager(.read, .crashes),
        parameters: [
            .query("state", .string, "A comma-separated list of unresolved, ignored, resolved and regressed."),
            .query("level", .string, "A comma-separated list of debug, info, warning, error and fatal."),
            .query("kind", .string, "A comma-separated list of crash, error, message and broken."),
            .query("release", .string.maxLength(250), "The name or version of a release in which the issue was seen."),
            .query("text", .string.maxLength(200), "A text in the title or the culprit, ignoring case."),
            .query("tag", .array(of: .string).maxItems(5), "A tag that reports have, as key:value; may be repeated."),
            .query("configuration", .string.maxLength(200), "The version of the configuration that was active."),
            .query(
                "variant", .string.maxLength(400), "The experiment variant that was active, as experiment=variation."),
            .query("assignee", .string.maxLength(64), "The id of the assignee, or none."),
            .query("firstSeenFrom", .time),
            .query("firstSeenTo", .time),
            .query("lastSeenFrom", .time),
            .query("lastSeenTo", .time),
            .query("sort", .oneOf("lastSeen", "firstSeen", "events", "users").defaulting(to: "lastSeen")),
            .query("cursor"),
            .query("limit", .integer.range(1, 200).defaulting(to: 50)),
        ],
        answers: [
            .answer(200, "A page of issues.", .json(.crashIssueList))
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let order = try IssueOrder(request)
        let cursor = try ListCursor(request.uri.queryParameters["cursor"], order: order.rawValue)
        let limit = try context.integer("limit")
        let list = try await tracking.reader.list(
            try IssueFilter(request), by: order, after: cursor, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        let named = try await tracking.assignees.named(page.map(\.json), .crashes, in: space)
        return .page(named, next: list.count > limit ? page.last?.cursor.text : nil)
    }
}

/// Streams the issues as CSV (RFC 4180) while they are read.
///
/// An error after the first byte aborts the response, which HTTP clients notice.
struct ExportIssues: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/export", "exportIssues", "Exports up to 100,000 issues as CSV.",
        callers: .manager(.read, .crashes),
        parameters: [
            .query("state", .string, "A comma-separated list of unresolved, ignored, resolved and regressed."),
            .query("level", .string, "A comma-separated list of debug, info, warning, error and fatal."),
            .query("kind", .string, "A comma-separated list of crash, error, message and broken."),
            .query("release", .string.maxLength(250), "The name or version of a release in which the issue was seen."),
            .query("text", .string.maxLength(200), "A text in the title or the culprit, ignoring case."),
            .query("tag", .array(of: .string).maxItems(5), "A tag that reports have, as key:value; may be repeated."),
            .query("configuration", .string.maxLength(200), "The version of the configuration that was active."),
            .query(
                "variant", .string.maxLength(400), "The experiment variant that was active, as experiment=variation."),
            .query("assignee", .string.maxLength(64), "The id of the assignee, or none."),
            .query("firstSeenFrom", .time),
            .query("firstSeenTo", .time),
            .query("lastSeenFrom", .time),
            .query("lastSeenTo", .time),
            .query("sort", .oneOf("lastSeen", "firstSeen", "events", "users").defaulting(to: "lastSeen")),
        ],
        answers: [
            .answer(200, "The names of the columns, and a line for each issue.", .type("text/csv", .string))
        ])

    static let maximumIssues = 100_000
    private static let pageSize = 500

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let (order, filter) = (try IssueOrder(request), try IssueFilter(request))
        let body = ResponseBody { [reader = tracking.reader] writer in
            try await writer.write(ByteBuffer(string: CSVLine.text(IssueReader.columns)))
            var cursor: ListCursor?
            var count = 0
            while count < Self.maximumIssues {
                let rows = try await reader.rows(
                    filter, by: order, after: cursor, limit: min(Self.pageSize, Self.maximumIssues - count), in: space)
                guard let last = rows.last else { break }
                try await writer.write(ByteBuffer(string: rows.map { CSVLine.text($0.cells) }.joined()))
                (cursor, count) = (last.cursor, count + rows.count)
            }
            try await writer.finish(nil)
        }
        let headers: HTTPFields = [
            .contentType: "text/csv; charset=utf-8", .contentDisposition: #"attachment; filename="issues.csv""#,
            .cacheControl: "no-store",
        ]
        return Response(status: .ok, headers: headers, body: body)
    }
}
