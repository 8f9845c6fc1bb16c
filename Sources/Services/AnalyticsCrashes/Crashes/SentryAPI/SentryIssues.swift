import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListSentryIssues: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/projects/{organization}/{project}/issues", "listSentryIssues",
        "Lists issues, last seen first, in pages of 100 (`sentry-cli issues list`).", callers: .server,
        parameters: [
            .sentryOrganization,
            .sentryProject,
            .query(
                "query", .string.maxLength(500),
                """
                `is:unresolved`, `is:resolved`, `is:ignored`, `level:error`, `release:…`, and words of the title or \
                culprit.
                """),
            .query("cursor", .string, "The cursor in the `Link` header of the previous page."),
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "A page of issues; the `Link` header has the cursor of the next.", .json(.array(of: .object)))
        ],
        errors: [
            404: "The key belongs to another project (`app-not-found`).",
            403: "This call needs the app's master key (`forbidden`).",
        ])

    private static let pageLength = 100
    private static let link = HTTPField.Name("Link")!

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await tracking.spaces.space(of: try context.symbolProject("project"))
        let query = request.uri.queryParameters
        let filter = try IssueFilter(sentryQuery: String(query["query"] ?? ""))
        let cursor = query["cursor"].flatMap { $0.isEmpty ? nil : $0 }
        let after = try ListCursor(cursor, order: IssueOrder.lastSeen.rawValue)
        let found = try await tracking.reader.sentryList(filter, after: after, limit: Self.pageLength + 1, in: space)
        let page = found.prefix(Self.pageLength)
        var response = Response.json("[\(page.map(\.json).joined(separator: ","))]")
        let next = found.count > Self.pageLength ? page.last?.cursor.text : nil
        response.headers[Self.link] =
            #"<\#(request.uri.path)>; rel="next"; results="\#(next != nil)"; cursor="\#(next ?? "-")""#
        return response
    }
}

/// Atomic: changes all of the selected issues, or none if one of the ids does not exist.
struct ChangeSentryIssues: Endpoint {
    static let route = Route(
        .put, "/crash/api/0/projects/{organization}/{project}/issues", "changeSentryIssues",
        "Changes the status of up to 1,000 issues (`sentry-cli issues resolve`, `mute` and `unresolve`).",
        callers: .server,
        parameters: [
            .sentryOrganization,
            .sentryProject,
            .query(
                "id", .array(of: .integer).maxItems(1_000),
                "The numbers of the issues; if one does not exist, none is changed."),
            .query(
                "status", .oneOf("unresolved", "resolved", "muted", "ignored", "archived"),
                """
                Selects the issues with this status, and is ignored if there is an `id`. Without either, all issues \
                are changed.
                """),
        ],
        refusal: SentryAPI.refusal,
        body: .json(
            .object(
                [
                    "status": .oneOf("resolved", "resolvedInNextRelease", "muted", "ignored", "unresolved")
                ], required: ["status"])),
        answers: [
            .answer(200, "The new status, and the number of the project.", .json(.object))
        ],
        errors: [
            404: "The key is another project's (`app-not-found`), or an issue does not exist (`issue-not-found`).",
            403: "This call needs the app's master key (`forbidden`).",
        ])

    private static let maximumBodySizeInBytes = 64 << 10
    private static let maximumIssues = 1_000

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.symbolProject("project")
        let (space, author) = try await context.crashes(may: .update, tracking.spaces)
        // A parameter that would narrow the selection in Sentry must not change all issues here.
        let value = try await request.json(upTo: Self.maximumBodySizeInBytes)
        let change = try Self.change(value["status"]?.plainText ?? "")
        let numbers = try await numbers(request, in: space)
        _ = try await tracking.changes.make([change], to: numbers, by: author, in: space)
        return .json(
            #"{"status":\#(JSONValue.quote(value["status"]?.plainText ?? "")),"project":\#(principal.appNumber)}"#)
    }

    private static func change(_ status: String) throws -> IssueChange {
        switch status {
        case "resolved": .resolve(in: .now)
        case "resolvedInNextRelease": .resolve(in: .nextRelease)
        case "muted", "ignored": .ignore(until: nil, events: nil, users: nil)
        case "unresolved": .reopen
        default:
            throw ServiceError.unexpectedMember(
                "status", expected: "resolved, resolvedInNextRelease, muted or unresolved", found: status)
        }
    }

    /// The numbers of the issues that the query selects.
    private func numbers(_ request: Request, in space: Space) async throws -> [Int32] {
        let ids = request.uri.queryParameters.getAll("id")
        guard ids.isEmpty else {
            guard ids.count <= Self.maximumIssues else {
                throw ServiceError(.limitExceeded, "At most \(Self.maximumIssues) issues can be changed at once.")
            }
            return try ids.map { id in
                guard let number = Int32(id), number > 0 else {
                    throw ServiceError.unexpectedParameter("id", expected: "the number of an issue", found: id[...])
                }
                return number
            }
        }
        var filter = IssueFilter()
        if let status = request.uri.queryParameters["status"] { filter.states = try IssueFilter.states(String(status)) }
        return try await tracking.reader.numbers(filter, limit: Self.maximumIssues, in: space)
    }
}

extension IssueFilter {
    private static let maximumQueryLength = 500

    /// Parses a query in Sentry's syntax: `is:unresolved level:error cart`.
    ///
    /// - Throws: `invalid-parameter` for an unsupported search term.
    init(sentryQuery text: String) throws {
        self.init()
        guard text.utf8.count <= Self.maximumQueryLength, !text.utf8.contains(0) else {
            throw ServiceError(
                .invalidParameter,
                "Expected at most \(Self.maximumQueryLength) bytes without NUL characters.", field: "query")
        }
        var words: [Substring] = []
        for word in text.split(separator: " ") {
            let parts = word.split(separator: ":", maxSplits: 1)
            switch (parts[0], parts.count == 2 ? String(parts[1]) : nil) {
            case ("is", let state?): states += try Self.states(state)
            case ("level", let level?):
                guard let level = CrashLevel(name: level) else {
                    throw ServiceError(.invalidParameter, "There is no level \(level).", field: "query")
                }
                levels.append(level)
            case ("release", let name?): release = name
            case (let name, _?) where name.allSatisfy(\.isLetter):
                throw ServiceError(
                    .invalidParameter, "Martlet cannot search by \(name), only by is, level, release and words.",
                    field: "query")
            default: words.append(word)
            }
        }
        if !words.isEmpty { self.text = words.joined(separator: " ") }
    }

    /// The states that a status of Sentry stands for.
    ///
    /// - Throws: `invalid-parameter`.
    static func states(_ name: String) throws -> [IssueState] {
        switch name {
        case "unresolved": [.unresolved, .regressed]
        case "resolved": [.resolved]
        case "muted", "ignored", "archived": [.ignored]
        default:
            throw ServiceError.unexpectedParameter(
                "status", expected: "unresolved, resolved or ignored", found: name[...])
        }
    }
}

extension IssueReader {
    /// Issues in the form that `sentry-cli` reads, last seen first.
    func sentryList(_ filter: IssueFilter, after cursor: ListCursor?, limit: Int, in space: Space) async throws -> [(
        json: String, cursor: ListCursor
    )] {
        try await page(Self.sentryJSON, as: String.self, filter, .lastSeen, cursor, limit, space).map {
            (json: $0, cursor: $1)
        }
    }

    /// The numbers of the issues, last seen first.
    func numbers(_ filter: IssueFilter, limit: Int, in space: Space) async throws -> [Int32] {
        try await page("i.number", as: Int32.self, filter, .lastSeen, nil, limit, space).map(\.0)
    }

    private static let sentryJSON: PostgresQuery = """
        jsonb_build_object('id', i.number::text, 'shortId', '#' || i.number, 'title', i.title, 'culprit', i.culprit,
            'status', i.status, 'level', \(CrashLevel.name(of: "i.level")), 'count', i.events::text, 'userCount', i.users,
            'firstSeen', \(PostgresQuery.rfc3339("i.first_seen")), 'lastSeen', \(PostgresQuery.rfc3339("i.last_seen")))::text
        """
}
