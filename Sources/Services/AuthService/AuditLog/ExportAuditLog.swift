import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Streams the entries while they are read. An error after the first byte aborts the response, which the client
/// notices.
struct ExportAuditLog: Endpoint {
    static let route = Route(
        .get, "/admin/audit/export", "exportAuditLog", "Exports the audit log as a file, the oldest entries first.",
        callers: .staff(.read, .audit),
        parameters: [
            .query("format", .oneOf("jsonl", "csv").defaulting(to: "jsonl")),
            .query("staff", .uuid, "The id of the staff member who acted."),
            .query("area"),
            .query("app"),
            .query("environment", .oneOf("live", "test")),
            .query("action"),
            .auditTarget,
            .query("from", .time, "The earliest time, inclusive."),
            .query("to", .time, "The latest time, exclusive."),
        ],
        details: """
            A file has at most 100,000 entries; select others with `from` and `to`. The export itself is \
            recorded in the log.
            """,
        answers: [
            .answer(
                200, "The entries in the requested format.", .type("application/jsonl", .string),
                .type("text/csv", .string))
        ])

    static let maximumEntries = 100_000
    private static let pageSize = 500

    let audit: AuditStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.staff(may: .read, .audit)
        let filter = try AuditFilter(request)
        let formatName = request.uri.queryParameters["format"] ?? "jsonl"
        guard let format = Format(rawValue: String(formatName)) else {
            throw ServiceError.unexpectedParameter("format", expected: "csv or jsonl", found: formatName)
        }
        try await audit.record(
            AuditEntry(by: staff, "export", .audit, target: format.rawValue, from: request.staffAddress))
        let body = ResponseBody { [audit] writer in
            if format == .csv { try await writer.write(ByteBuffer(string: AuditRow.header)) }
            var (last, count): (Int64, Int) = (0, 0)
            while count < Self.maximumEntries {
                let rows = try await audit.rows(
                    filter, after: last, limit: min(Self.pageSize, Self.maximumEntries - count))
                guard let newest = rows.last?.number else { break }
                try await writer.write(
                    ByteBuffer(string: rows.map { format == .csv ? $0.csv : $0.json + "\n" }.joined()))
                (last, count) = (newest, count + rows.count)
            }
            try await writer.finish(nil)
        }
        let headers: HTTPFields = [
            .contentType: format.contentType, .contentDisposition: #"attachment; filename="audit.\#(format.rawValue)""#,
            .cacheControl: "no-store",
        ]
        return Response(status: .ok, headers: headers, body: body)
    }

    private enum Format: String {
        case csv, jsonl

        var contentType: String {
            switch self {
            case .csv: "text/csv; charset=utf-8"
            case .jsonl: "application/jsonl; charset=utf-8"
            }
        }
    }
}

extension AuditRow {
    /// The header line (RFC 4180).
    static let header = "number,time,staffId,staffName,action,area,app,target,before,after,address,environment\r\n"

    fileprivate var csv: String { CSVLine.text(cells) }
}
