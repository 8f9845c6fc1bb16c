import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadAuditLog: Endpoint {
    static let route = Route(
        .get, "/admin/audit", "readAuditLog", "Lists the entries of the audit log, newest first.",
        callers: .staff(.read, .audit),
        parameters: [
            .query("staff", .uuid, "The id of the staff member who acted."),
            .query("area"),
            .query("app"),
            .query("environment", .oneOf("live", "test")),
            .query("action"),
            .auditTarget,
            .query("from", .time, "The earliest time, inclusive."),
            .query("to", .time, "The latest time, exclusive."),
            .query("before", .integer, "The `next` of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(
                200, "A page of entries.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .auditEntry),
                            "next": .integer.described("The `before` of the next page, if there is one."),
                        ], required: ["count", "data"])))
        ])

    let audit: AuditStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
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
                throw ServiceError.unexpectedParameter(
                    "area", expected: "an area of rights, such as users", found: text)
            }
            self.area = area
        }
        appID = try request.word("app")
        environment = parameters["environment"].flatMap { AppEnvironment(rawValue: String($0)) }
        action = try request.word("action")
        target = try request.target
        from = try request.time("from")
        to = try request.time("to")
    }
}

extension Request {
    /// - Throws: `invalid-parameter` for a value that cannot occur in the log.
    fileprivate func word(_ name: Substring) throws -> String? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard text.wholeMatch(of: /[a-z0-9-]{1,64}/) != nil else {
            throw ServiceError.unexpectedParameter(
                name, expected: "1 to 64 of the characters a-z 0-9 -", found: text)
        }
        return String(text)
    }

    /// - Throws: `invalid-parameter` for a value that cannot occur in the log.
    fileprivate var target: String? {
        get throws {
            guard let text = uri.queryParameters["target"].map(String.init) else { return nil }
            guard (1...255).contains(text.unicodeScalars.count), !text.utf8.contains(0) else {
                throw ServiceError(.invalidParameter, "Expected 1 to 255 characters without NUL.", field: "target")
            }
            return text
        }
    }
}

extension RouteParameter {
    static let auditTarget: RouteParameter = .query(
        "target", .string.maxLength(255),
        "What was changed, such as `Note/0190163d-8694-739b-aea5-966c26f8ad91`. `Note` also finds everything in `Note`."
    )
}
