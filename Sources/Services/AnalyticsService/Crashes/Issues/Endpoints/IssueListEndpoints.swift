import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /crashes/issues?state=&level=&kind=&release=&text=&tag=&assignee=&firstSeenFrom=…&sort=&cursor=&limit=`: a page
/// of issues.
///
/// An issue that moves in the order between two requests may appear on both pages or on neither.
struct ListIssues: Endpoint {
    static let route = Route(
        .get, "/crashes/issues", "listIssues", "A page of issues.", callers: .manager(.read, .crashes),
        parameters: [
            .query("state", .string, "A list of unresolved, ignored, resolved, regressed."),
            .query("level", .string, "A list of debug, info, warning, error, fatal."),
            .query("kind", .string, "A list of crash, error, message, broken."),
            .query("release", .string.maxLength(250), "A release's name or version."),
            .query("text", .string.maxLength(200), "In the title or the culprit."),
            .query("tag", .array(of: .string).maxItems(5), "key:value; may be repeated."),
            .query("configuration", .string.maxLength(200), "The version that was active."),
            .query("variant", .string.maxLength(400), "experiment=variation that was active."),
            .query("assignee", .string.maxLength(64), "A staff member's id, or none."),
            .query("firstSeenFrom", .time),
            .query("firstSeenTo", .time),
            .query("lastSeenFrom", .time),
            .query("lastSeenTo", .time),
            .query("sort", .oneOf("lastSeen", "firstSeen", "events", "users").defaulting(to: "lastSeen")),
            .query("cursor"),
            .query("limit", .integer.range(1, 200).defaulting(to: 50)),
        ],
        answers: [
            .answer(200, "The issues.", .json(.crashIssueList))
        ])

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        let order = try IssueOrder(request)
        let cursor = try ListCursor(request.uri.queryParameters["cursor"], order: order.rawValue)
        let limit = try request.number("limit", default: 50, in: 1...200)
        let list = try await life.reader.list(
            try IssueFilter(request), by: order, after: cursor, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        let named = try await life.assignees.named(page.map(\.json), .crashes, in: space)
        return .page(named, next: list.count > limit ? page.last?.place.text : nil)
    }
}

/// `GET /crashes/issues/export?…`: the same issues as CSV (RFC 4180), streamed while they are read; at most 100,000.
///
/// An error after the first byte aborts the response, which HTTP clients notice.
struct ExportIssues: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/export", "exportIssues", "The same issues as CSV.", callers: .manager(.read, .crashes),
        parameters: [
            .query("state", .string, "A list of unresolved, ignored, resolved, regressed."),
            .query("level", .string, "A list of debug, info, warning, error, fatal."),
            .query("kind", .string, "A list of crash, error, message, broken."),
            .query("release", .string.maxLength(250), "A release's name or version."),
            .query("text", .string.maxLength(200), "In the title or the culprit."),
            .query("tag", .array(of: .string).maxItems(5), "key:value; may be repeated."),
            .query("configuration", .string.maxLength(200), "The version that was active."),
            .query("variant", .string.maxLength(400), "experiment=variation that was active."),
            .query("assignee", .string.maxLength(64), "A staff member's id, or none."),
            .query("firstSeenFrom", .time),
            .query("firstSeenTo", .time),
            .query("lastSeenFrom", .time),
            .query("lastSeenTo", .time),
            .query("sort", .oneOf("lastSeen", "firstSeen", "events", "users").defaulting(to: "lastSeen")),
        ],
        answers: [
            .answer(200, "A line for each.", .type("text/csv", .string))
        ])

    static let maximumIssues = 100_000
    private static let pageSize = 500

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        let (order, filter) = (try IssueOrder(request), try IssueFilter(request))
        let body = ResponseBody { [reader = life.reader] writer in
            try await writer.write(ByteBuffer(string: CSVLine.text(IssueReader.columns)))
            var place: ListCursor?
            var count = 0
            while count < Self.maximumIssues {
                let rows = try await reader.rows(
                    filter, by: order, after: place, limit: min(Self.pageSize, Self.maximumIssues - count), in: space)
                guard let last = rows.last else { break }
                try await writer.write(ByteBuffer(string: rows.map { CSVLine.text($0.cells) }.joined()))
                (place, count) = (last.place, count + rows.count)
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
