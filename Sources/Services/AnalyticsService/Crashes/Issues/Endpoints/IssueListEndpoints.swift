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
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters(IssueFilter.parameters.union(["sort", "cursor", "limit"]))
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
    static let maximumIssues = 100_000
    private static let pageSize = 500

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters(IssueFilter.parameters.union(["sort"]))
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
