import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /admin/audit?staff=&area=&app=&action=&from=&to=&before=&limit=`: what staff did, the newest first; needs
/// `audit` read.
///
/// `next`, where there are more, is the `before` of the next page.
struct ReadAuditLog: Endpoint {
    static let route = Route(
        .get, "/admin/audit", "readAuditLog", "What staff did, the newest first.", callers: .staff(.read, .audit),
        parameters: [
            .query("staff", .uuid, "By whom."),
            .query("area"),
            .query("app"),
            .query("action"),
            .query("from", .time, "The first moment that counts."),
            .query("to", .time, "The first that does not."),
            .query("before", .integer, "`next` of the page before."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        details: "Needs `audit` read.",
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .auditEntry),
                            "next": .integer.described("`before` of the next page."),
                        ], required: ["count", "data"])))
        ])

    let audit: AuditStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.staff(may: .read, .audit)
        let filter = try AuditFilter(request)
        let limit = try context.integer("limit")
        let before = try request.number("before", default: .max, in: 1...Int.max)
        let list = try await audit.list(filter, before: Int64(before), limit: limit + 1)
        let page = list.prefix(limit)
        let next = list.count > limit ? page.last.map { #","next":\#($0.number)"# } ?? "" : ""
        return .json(#"{"count":\#(page.count),"data":[\#(page.map(\.json).joined(separator: ","))]\#(next)}"#)
    }
}

extension AuditFilter {

    /// - Throws: `invalid-parameter`.
    init(_ request: Request) throws {
        let parameters = request.uri.queryParameters
        staffID = try request.id("staff")
        if let text = parameters["area"] {
            guard let area = StaffArea(rawValue: String(text)) else {
                throw HTTPProblem(.invalidParameter, "There is no such area.", field: "area")
            }
            self.area = area
        }
        appID = try request.word("app")
        action = try request.word("action")
        from = try request.time("from")
        to = try request.time("to")
    }
}

extension Request {
    /// - Throws: `invalid-parameter` for what cannot be in the log.
    fileprivate func word(_ name: Substring) throws -> String? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard text.wholeMatch(of: /[a-z0-9-]{1,64}/) != nil else {
            throw HTTPProblem(.invalidParameter, "It must be 1 to 64 of a-z 0-9 -.", field: String(name))
        }
        return String(text)
    }
}
