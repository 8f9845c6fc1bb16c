import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /crashes/issues/{issue}`: the issue with `newestReport`, null if no report is kept, and `suspectCommits`.
struct ReadIssue: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters()
        let id = try await context.issue(life.reader, in: space)
        let json = try await life.answer(id, in: space)
        let report = try await life.reports.read(.newest, of: id)
        let content = try report.flatMap { try JSONValue(parsing: $0.utf8)["content"] } ?? .null
        let suspects = try await life.suspects.list(of: id, content, in: space)
        return .json(
            String(json.dropLast()) + ",\"suspectCommits\":[\(suspects.joined(separator: ","))],\"newestReport\":"
                + (report ?? "null") + "}")
    }
}

/// `PATCH /crashes/issues/{issue}` with `{"state"?,"release"?,"until"?,"events"?,"users"?,"assignee"?}`: changes the
/// issue and returns it.
struct ChangeIssue: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, life.spaces)
        try request.allowParameters()
        let number = try context.issueNumber
        let changes = try await life.wanted(
            try await BodyFields(request, IssueChange.fields), askedBy: try context.principal)
        let ids = try await life.changes.make(changes, to: [number], by: author, in: space)
        guard let id = ids.first else { throw HTTPProblem(.issueNotFound) }
        return .json(try await life.answer(id, in: space))
    }
}

/// `POST /crashes/issues/update` with `{"issues":[…],…}` and the fields of `ChangeIssue`: changes all of these issues,
/// or none if one does not exist. Returns the changed issues.
struct ChangeIssues: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, life.spaces)
        try request.allowParameters()
        let body = try await BodyFields(request, IssueChange.fields.union(["issues"]))
        let issues = try body.issues("issues")
        let changes = try await life.wanted(body, askedBy: try context.principal)
        let ids = try await life.changes.make(changes, to: issues, by: author, in: space)
        return .page(try await life.assignees.named(try await life.reader.read(ids, in: space), .crashes, in: space))
    }
}

/// `DELETE /crashes/issues/{issue}`: 204. Its reports are deleted, too; later reports of the same kind create a new
/// issue.
struct DeleteIssue: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .delete, life.spaces)
        try request.allowParameters()
        try await life.removal.remove(try await context.issue(life.reader, in: space), in: space)
        return Response(status: .noContent)
    }
}

/// `GET /crashes/issues/{issue}/history?before=&limit=`: the changes of the issue with their authors, newest first.
struct ListIssueHistory: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters(["before", "limit"])
        let limit = try request.number("limit", default: 50, in: 1...200)
        let before = try request.number("before", default: .max, in: 1...Int.max)
        let id = try await context.issue(life.reader, in: space)
        let list = try await life.reader.history(of: id, before: Int64(before), limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.id) } : nil)
    }
}

/// `POST /crashes/issues/{issue}/merge` with `{"issues":[…]}`: merges these issues into this one and returns it.
struct MergeIssues: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, life.spaces)
        try request.allowParameters()
        let id = try await context.issue(life.reader, in: space)
        let others = try await BodyFields(request, ["issues"]).issues("issues")
        guard !others.contains(try context.issueNumber) else {
            throw HTTPProblem(.invalidBody, "An issue cannot be merged into itself.", field: "issues")
        }
        try await life.merging.merge(others, into: id, by: author, in: space)
        return .json(try await life.answer(id, in: space))
    }
}

/// `POST /crashes/issues/{issue}/part` with `{"hashes":[…]}`: splits the reports with these hashes off into a new issue
/// and returns it.
struct PartIssue: Endpoint {
    private static let maximumHashes = 100

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, life.spaces)
        try request.allowParameters()
        let id = try await context.issue(life.reader, in: space)
        let hashes = try await BodyFields(request, ["hashes"]).strings("hashes", upTo: Self.maximumHashes) ?? []
        guard !hashes.isEmpty, hashes.allSatisfy({ $0.wholeMatch(of: /[0-9a-f]{32}/) != nil }) else {
            throw HTTPProblem(
                .invalidBody,
                "This must be a list of 1 to \(Self.maximumHashes) hashes, each of 32 lower-case hexadecimal digits.",
                field: "hashes")
        }
        let (new, number) = try await life.merging.part(hashes, from: id, by: author, in: space)
        var response = Response.json(try await life.answer(new, in: space))
        response.status = .created
        response.headers[.location] = "/crashes/issues/\(number)"
        return response
    }
}

/// `GET /crashes/issues/{issue}/hashes`: the hashes that are grouped into the issue, each with the number of its stored
/// reports.
struct ListIssueHashes: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters()
        return .page(try await life.merging.hashes(of: try await context.issue(life.reader, in: space)))
    }
}

extension BodyFields {
    /// The numbers of 1 to `IssueChanges.maximumPerCall` issues.
    ///
    /// - Throws: `invalid-body`.
    fileprivate func issues(_ name: String) throws -> [Int32] {
        guard case .array(let elements) = self[name], (1...IssueChanges.maximumPerCall).contains(elements.count) else {
            throw HTTPProblem(
                .invalidBody, "This must be a list of 1 to \(IssueChanges.maximumPerCall) issue numbers.", field: name)
        }
        return try elements.map { element in
            guard case .number(let literal) = element, let number = Int32(literal), number > 0 else {
                throw HTTPProblem(.invalidBody, "An issue number must be a positive integer.", field: name)
            }
            return number
        }
    }
}
