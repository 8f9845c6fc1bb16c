import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// A user can report an object once; the answer to another report of it is the first report.
struct ReportObject: Endpoint {
    static let route = Route(
        .post, "/storage/{collection}/{id}/report", "reportObject", "Reports an object to the app's moderators.",
        callers: .user,
        parameters: [.collection, .path("id", .objectID)],
        details: """
            A user may report 100 objects a day, and have 500 open reports. To report a user, report the object in \
            `_User`.
            """,
        body: .json(
            .object(
                ["reason": .string.length(1, ReportStore.maximumTextInBytes)], required: ["reason"])),
        answers: [
            .answer(201, "The report.", .json(.report)),
            .answer(200, "The report that the user made before.", .json(.report)),
        ],
        errors: [404: "The object does not exist, or the user may not see it (`object-not-found`)."])

    let reports: ReportStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights), try context.objectID)
        guard let user = scope.rights.identity.userID else { throw ServiceError(.invalidToken) }
        let reason = try await BodyFields(request, ["reason"]).reportText("reason")
        guard !reason.isEmpty else {
            throw ServiceError(.invalidBody, "This field is required.", field: "reason")
        }
        guard let (report, isNew) = try await reports.add(reason, on: id, by: user, in: scope) else {
            throw ServiceError(.objectNotFound)
        }
        return try .encoding(report, status: isNew ? .created : .ok)
    }
}

struct ListReports: Endpoint {
    static let route = Route(
        .get, "/reports", "listObjectReports", "Lists the reports of users, oldest first.",
        callers: .manager(.read, .storage),
        parameters: [
            .query("state", .oneOf("open", "resolved").defaulting(to: "open")),
            .query("collection", .collectionName),
            .query("after", .uuid, "The last id of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "`count`, and the reports in `data`.")
        ])

    let reports: ReportStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let parameters = request.uri.queryParameters
        var page = ReportStore.Page()
        switch parameters["state"] {
        case nil, "open": break
        case "resolved": page.isResolved = true
        case let text?: throw ServiceError.unexpectedParameter("state", expected: "open or resolved", found: text)
        }
        page.collection = try parameters["collection"].map { try CollectionName(String($0)) }
        page.after = try request.id("after")
        if let text = parameters["limit"] { page.limit = try ListQuery.integer(text, "limit", in: 1...1_000) }
        return try .list(try await reports.list(page, of: context.space))
    }
}

struct ReadReport: Endpoint {
    static let route = Route(
        .get, "/reports/{id}", "readObjectReport",
        "Returns a report, with the object as it was when it was reported.",
        callers: .manager(.read, .storage),
        parameters: [.path("id", .uuid)],
        details: """
            `copy` has every field, including hidden ones. It is missing if the object had more than 64 KiB, and after \
            its author's account was deleted.
            """,
        answers: [.answer(200, "The report.", .json(.report))],
        errors: [404: "There is no such report (`not-found`)."])

    let reports: ReportStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.uuid("id", else: .notFound)
        guard let report = try await reports.read(id, of: context.space) else { throw ServiceError(.notFound) }
        return .json(report)
    }
}

struct ResolveReport: Endpoint {
    static let route = Route(
        .post, "/reports/{id}/resolve", "resolveObjectReport",
        "Resolves all open reports of the object that a report names.",
        callers: .manager(.update, .storage),
        parameters: [.path("id", .uuid)],
        details: """
            `hide` hides the object from everyone except the app's server, even if it was removed: its lists of \
            readers and writers become empty. `restore` gives a hidden object its former lists, as long as one of its \
            reports is kept. Both are changes like others, except that `before…` hooks are not called. If the object \
            cannot be changed, no report is resolved.
            """,
        body: .json(
            .object(
                [
                    "resolution": .string.length(0, ReportStore.maximumTextInBytes).described(
                        "What was decided, for the app's own use."),
                    "action": .values("hide", "restore").described("What happens to the object."),
                ])),
        answers: [
            .answer(
                200, "How many reports were open.", .json(.object(["resolved": .integer], required: ["resolved"])))
        ],
        errors: [
            404: "There is no such report (`not-found`), or its object does not exist (`object-not-found`).",
            409: "The lists that the hidden object had are not known (`conflict`).",
        ])

    let reports: ReportStore

    private struct Answer: Encodable {
        var resolved: Int
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, space) = (try context.uuid("id", else: .notFound), try context.space)
        let fields = try await BodyFields(request, ["resolution", "action"])
        let resolution = try fields.reportText("resolution")
        let action: ReportStore.Action? = try fields.choice("action")
        guard let count = try await reports.resolve(id, resolution, action, of: space) else {
            throw ServiceError(.notFound)
        }
        return try .encoding(Answer(resolved: count))
    }
}

extension BodyFields {
    /// The empty string if absent.
    ///
    /// - Throws: `invalid-body`.
    fileprivate func reportText(_ name: String) throws -> String {
        let text = try string(name) ?? ""
        guard text.utf8.count <= ReportStore.maximumTextInBytes else {
            throw ServiceError(
                .invalidBody,
                "Expected at most \(ReportStore.maximumTextInBytes) bytes, found \(text.utf8.count).", field: name)
        }
        return text
    }
}

extension Schema {
    fileprivate static let report: Schema = component(
        "ObjectReport",
        .object(
            [
                "id": .uuid,
                "collection": .collectionName,
                "object": .objectID,
                "reporter": .string.described("The user's id."),
                "reason": .string,
                "created": .string.format("date-time"),
                "resolved": .string.format("date-time"),
                "resolution": .string,
                "copy": .object.described("For one report only: the object as it was when it was reported."),
            ]))
}
