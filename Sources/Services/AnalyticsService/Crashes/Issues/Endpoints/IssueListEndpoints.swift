import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /crashes/issues?state=&level=&kind=&release=&text=&tag=&assignee=&firstSeenFrom=…&sort=&cursor=&limit=`: a page of issues.
///
/// An issue that changes its place between two pages may be on both or on neither.
struct ListIssues: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters(IssueFilter.parameters.union(["sort", "cursor", "limit"]))
        let order = try IssueOrder(request)
        let cursor = try ListCursor(request.uri.queryParameters["cursor"], order: order.rawValue)
        let limit = try request.number("limit", default: 50, in: 1...200)
        let list = try await life.reader.list(try IssueFilter(request), by: order, after: cursor, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        let named = try await life.assignees.named(page.map(\.json), .crashes, in: space)
        return .page(named, next: list.count > limit ? page.last?.place.text : nil)
    }
}

/// `GET /crashes/issues/export?…`: the same issues as a file of CSV (RFC 4180), as it is read; 100,000 at the most.
///
/// An error behind the first byte cuts the answer off, which HTTP tells the reader.
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
                let rows = try await reader.rows(filter, by: order, after: place, limit: min(Self.pageSize, Self.maximumIssues - count), in: space)
                guard let last = rows.last else { break }
                try await writer.write(ByteBuffer(string: rows.map { CSVLine.text($0.cells) }.joined()))
                (place, count) = (last.place, count + rows.count)
            }
            try await writer.finish(nil)
        }
        let headers: HTTPFields = [
            .contentType: "text/csv; charset=utf-8", .contentDisposition: #"attachment; filename="issues.csv""#, .cacheControl: "no-store",
        ]
        return Response(status: .ok, headers: headers, body: body)
    }
}
