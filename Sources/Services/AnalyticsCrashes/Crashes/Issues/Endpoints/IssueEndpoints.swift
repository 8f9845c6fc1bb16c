import AnalyticsShared
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ReadIssue: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}", "readIssue", "Returns an issue with its newest report and suspect commits.",
        callers: .manager(.read, .crashes),
        parameters: [
            .issue
        ],
        answers: [
            .answer(200, "The issue.", .json(.crashIssue))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let id = try await context.issue(tracking.reader, in: space)
        let json = try await tracking.answer(id, in: space)
        let report = try await tracking.reports.read(.newest, of: id)
        let content = try report.flatMap { try JSONValue(parsing: $0.utf8)["content"] } ?? .null
        let suspects = try await tracking.suspects.list(of: id, content, in: space)
        return .json(
            String(json.dropLast()) + ",\"suspectCommits\":[\(suspects.joined(separator: ","))],\"newestReport\":"
                + (report ?? "null") + "}")
    }
}

struct ChangeIssue: Endpoint {
    static let route = Route(
        .patch, "/crashes/issues/{issue}", "changeIssue", "Changes the state or the assignee of an issue.",
        callers: .manager(.update, .crashes),
        parameters: [
            .issue
        ],
        body: .json(
            .object(
                [
                    "state": .oneOf("unresolved", "ignored", "resolved"),
                    "release": .string,
                    "until": .time,
                    "events": .integer.minimum(1),
                    "users": .integer.minimum(1),
                    "assignee": .uuid.nullable,
                ])),
        answers: [
            .answer(200, "The issue after the changes.", .json(.crashIssue))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, tracking.spaces)
        let number = try context.issueNumber
        let changes = try await tracking.changes(
            in: try await BodyFields(request, IssueChange.fields), by: try context.principal)
        let ids = try await tracking.changes.make(changes, to: [number], by: author, in: space)
        guard let id = ids.first else { throw ServiceError(.issueNotFound) }
        return .json(try await tracking.answer(id, in: space))
    }
}

/// Atomic: changes all of the issues, or none if one does not exist.
struct ChangeIssues: Endpoint {
    static let route = Route(
        .post, "/crashes/issues/update", "changeIssues",
        "Changes the state or the assignee of up to 100 issues at once.",
        callers: .manager(.update, .crashes),
        body: .json(
            .object(
                [
                    "issues": .array(of: .integer).items(1, 100),
                    "state": .oneOf("unresolved", "ignored", "resolved"),
                    "release": .string,
                    "until": .time,
                    "events": .integer.minimum(1),
                    "users": .integer.minimum(1),
                    "assignee": .uuid.nullable,
                ], required: ["issues"])),
        answers: [
            .answer(200, "The issues after the changes.", .json(.crashIssueList))
        ],
        errors: [404: "One of the issues does not exist (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, tracking.spaces)
        let body = try await BodyFields(request, IssueChange.fields.union(["issues"]))
        let issues = try body.issues("issues")
        let changes = try await tracking.changes(in: body, by: try context.principal)
        let ids = try await tracking.changes.make(changes, to: issues, by: author, in: space)
        return .page(
            try await tracking.assignees.named(try await tracking.reader.read(ids, in: space), .crashes, in: space))
    }
}

/// Later reports of the same kind create a new issue.
struct DeleteIssue: Endpoint {
    static let route = Route(
        .delete, "/crashes/issues/{issue}", "deleteIssue", "Deletes an issue with its reports.",
        callers: .manager(.delete, .crashes),
        parameters: [
            .issue
        ],
        answers: [
            .answer(204, "The issue is deleted.")
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .delete, tracking.spaces)
        try await tracking.removal.remove(try await context.issue(tracking.reader, in: space), in: space)
        return Response(status: .noContent)
    }
}

struct ListIssueHistory: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/history", "listIssueHistory",
        "Lists the changes of an issue with their authors, newest first.", callers: .manager(.read, .crashes),
        parameters: [
            .issue,
            .query("before", .integer.minimum(1)),
            .query("limit", .integer.range(1, 200).defaulting(to: 50)),
        ],
        details: """
            `authorName` is the name of the staff member who made the change, `toName` of the one to whom the issue \
            was assigned. Both are null for others, and while the auth service is unavailable.
            """,
        answers: [
            .answer(200, "A page of changes.", .json(.object))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let limit = try context.integer("limit")
        let before = try request.number("before", default: .max, in: 1...Int.max)
        let id = try await context.issue(tracking.reader, in: space)
        let list = try await tracking.reader.history(of: id, before: Int64(before), limit: limit + 1)
        let page = list.prefix(limit)
        let entries = try await tracking.assignees.namedEntries(page.map(\.json), .crashes, in: space)
        return .page(entries, next: list.count > limit ? page.last.map { String($0.id) } : nil)
    }
}

/// Atomic: nothing is merged if one of the issues does not exist. After a merge, the numbers of the merged issues lead
/// to this issue, and their later reports are added to it.
struct MergeIssues: Endpoint {
    static let route = Route(
        .post, "/crashes/issues/{issue}/merge", "mergeIssues", "Merges other issues into an issue.",
        callers: .manager(.update, .crashes),
        parameters: [
            .issue
        ],
        body: .json(
            .object(
                [
                    "issues": .array(of: .integer).items(1, 100)
                ], required: ["issues"])),
        answers: [
            .answer(200, "The issue after the merge.", .json(.crashIssue))
        ],
        errors: [404: "One of the issues does not exist (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, tracking.spaces)
        let id = try await context.issue(tracking.reader, in: space)
        let others = try await BodyFields(request, ["issues"]).issues("issues")
        guard !others.contains(try context.issueNumber) else {
            throw ServiceError(.invalidBody, "An issue cannot be merged into itself.", field: "issues")
        }
        try await tracking.merging.merge(others, into: id, by: author, in: space)
        return .json(try await tracking.answer(id, in: space))
    }
}

/// The counts of stored reports move with the reports. The counts of deleted reports stay.
struct SplitIssue: Endpoint {
    static let route = Route(
        .post, "/crashes/issues/{issue}/part", "partIssue",
        "Splits the reports with some of the issue's hashes off into a new issue.",
        callers: .manager(.update, .crashes),
        parameters: [
            .issue
        ],
        body: .json(
            .object(
                [
                    "hashes": .array(of: .string.pattern(#"^[0-9a-f]{32}$"#)).items(1, 100)
                ], required: ["hashes"])),
        answers: [
            .answer(201, "The new issue.", .json(.crashIssue))
        ],
        errors: [
            404: "The app has no such issue (`issue-not-found`).",
            409: "The issue does not have one of the hashes, or would have none left (`conflict`).",
        ])

    private static let maximumHashes = 100

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, tracking.spaces)
        let id = try await context.issue(tracking.reader, in: space)
        let hashes = try await BodyFields(request, ["hashes"]).strings("hashes", upTo: Self.maximumHashes) ?? []
        guard !hashes.isEmpty, hashes.allSatisfy({ $0.wholeMatch(of: /[0-9a-f]{32}/) != nil }) else {
            throw ServiceError(
                .invalidBody,
                "Expected 1 to \(Self.maximumHashes) hashes, each of 32 lower-case hexadecimal digits.",
                field: "hashes")
        }
        let (new, number) = try await tracking.merging.split(hashes, from: id, by: author, in: space)
        var response = Response.json(try await tracking.answer(new, in: space))
        response.status = .created
        response.headers[.location] = "/crashes/issues/\(number)"
        return response
    }
}

struct ListIssueHashes: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/hashes", "listIssueHashes",
        "Lists the hashes whose reports are grouped into an issue.",
        callers: .manager(.read, .crashes),
        parameters: [
            .issue
        ],
        answers: [
            .answer(200, "The hashes, each with the number of its stored reports.", .json(.object))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        return .page(try await tracking.merging.hashes(of: try await context.issue(tracking.reader, in: space)))
    }
}

extension BodyFields {
    /// The numbers of 1 to `IssueChanges.maximumPerCall` issues.
    ///
    /// - Throws: `invalid-body`.
    fileprivate func issues(_ name: String) throws -> [Int32] {
        guard case .array(let elements) = self[name], (1...IssueChanges.maximumPerCall).contains(elements.count) else {
            throw ServiceError(
                .invalidBody, "Expected an array of 1 to \(IssueChanges.maximumPerCall) issue numbers.", field: name)
        }
        return try elements.map { element in
            guard case .number(let literal) = element, let number = Int32(literal), number > 0 else {
                throw ServiceError(
                    .invalidBody, "Expected issue numbers of at least 1, found \(element.phrase).", field: name)
            }
            return number
        }
    }
}
