import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres

struct ListReports: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/reports", "listReports",
        "Lists the stored reports of an issue without their contents, newest first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .issue,
            .query("cursor"),
            .query("limit", .integer.range(1, 200).defaulting(to: 50)),
        ],
        answers: [
            .answer(200, "A page of reports.", .json(.object))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let cursor = try ListCursor(request.uri.queryParameters["cursor"], order: "received")
        let limit = try context.integer("limit")
        let list = try await tracking.reports.list(
            of: try await context.issue(tracking.reader, in: space), after: cursor, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.cursor.text : nil)
    }
}

/// `content` has the stack, threads, breadcrumbs and contexts in Sentry's format. `previous` and `next` are the ids of
/// the neighbouring reports in the order of receipt.
struct ReadReport: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/reports/{report}", "readReport", "Returns a report with its content.",
        callers: .manager(.read, .crashes),
        parameters: [
            .issue,
            .path("report", .string, "The report's id (32 hexadecimal digits), newest or oldest."),
        ],
        answers: [
            .answer(200, "The report.", .json(.crashReport))
        ],
        errors: [
            404: "The app has no such issue (`issue-not-found`), or the issue has no such report (`report-not-found`)."
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        guard
            let json = try await tracking.reports.read(
                try context.report, of: try await context.issue(tracking.reader, in: space))
        else {
            throw ServiceError(.reportNotFound)
        }
        return .json(json)
    }
}

struct ReadReportAttachment: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/reports/{report}/attachments/{attachment}", "readReportAttachment",
        "Downloads an attachment of a report.", callers: .manager(.read, .crashes),
        parameters: [
            .issue,
            .path("report", .string, "The report's id (32 hexadecimal digits), newest or oldest."),
            .path("attachment", .integer),
        ],
        answers: [
            .answer(200, "The bytes of the attachment.", .type("application/octet-stream", .bytes))
        ],
        errors: [
            404: "Part of the path does not exist (`issue-not-found`, `report-not-found`, `file-not-found`)."
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let issue = try await context.issue(tracking.reader, in: space)
        guard let id = context.parameters.get("attachment").flatMap({ Int64($0) }),
            let attachment = try await tracking.reports.attachment(id, of: try context.report, of: issue)
        else { throw ServiceError(.fileNotFound) }
        let body = ResponseBody(contentLength: attachment.sizeInBytes) { [files = tracking.reports.files] writer in
            try await files.read(attachment.blob, in: 0..<attachment.sizeInBytes) { try await writer.write($0) }
            try await writer.finish(nil)
        }
        // The client's file name and type are ignored, so that no browser shows or runs the file.
        let headers: HTTPFields = [
            .contentType: "application/octet-stream", .contentDisposition: "attachment; filename=\"attachment-\(id)\"",
            .xContentTypeOptions: "nosniff",
            .cacheControl: "no-store",
        ]
        return Response(status: .ok, headers: headers, body: body)
    }
}
