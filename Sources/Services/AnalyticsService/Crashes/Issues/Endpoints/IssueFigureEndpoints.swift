import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `GET /crashes/issues/{issue}/counts?interval=month|day|hour&steps=&to=`: how often the issue occurred over time, by
/// default in the last 12 months; and `GET /crashes/counts?…`, the same for all issues together.
struct ReadCounts: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/counts", "readIssueCounts",
        "How often it happened, by months, days or hours (UTC).", callers: .manager(.read, .crashes),
        parameters: [
            .path("issue", .integer.minimum(1), "Its number."),
            .query("interval", .oneOf("month", "day", "hour").defaulting(to: "month")),
            .query(
                "steps", .integer.minimum(1),
                "12 months, 30 days or 24 hours if nothing is said; 36, 366, 168 at the most."),
            .query("to", .time, "A time in the last step; now if nothing is said."),
        ],
        answers: [
            .answer(200, "The steps, oldest first.", .json(.crashCounts))
        ],
        errors: [404: "There is no such issue (`issue-not-found`)."])
    static let readCrashCounts = Route(
        .get, "/crashes/counts", "readCrashCounts", "The same line of all issues together.",
        callers: .manager(.read, .crashes),
        parameters: [
            .query("interval", .oneOf("month", "day", "hour").defaulting(to: "month")),
            .query(
                "steps", .integer.minimum(1),
                "12 months, 30 days or 24 hours if nothing is said; 36, 366, 168 at the most."),
            .query("to", .time, "A time in the last step; now if nothing is said."),
        ],
        answers: [
            .answer(200, "The steps, oldest first.", .json(.crashCounts))
        ])

    let life: IssueLife
    let isOfIssue: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        let (interval, steps, last) = try IssueLine.Interval.line(of: request)
        let issue = isOfIssue ? try await context.issue(life.reader, in: space) : nil
        return .page(try await life.line.read(interval, steps: steps, endingAt: last, of: issue, in: space))
    }
}

/// `GET /crashes/issues/{issue}/tags?values=`: the tags of its reports, each with its most frequent values.
struct ListTags: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/tags", "listIssueTags", "The tags of its reports with their commonest values.",
        callers: .manager(.read, .crashes),
        parameters: [
            .path("issue", .integer.minimum(1), "Its number."),
            .query("values", .integer.range(1, 100).defaulting(to: 5)),
        ],
        answers: [
            .answer(200, "The tags.", .json(.object))
        ],
        errors: [404: "There is no such issue (`issue-not-found`)."])

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        let values = try request.number("values", default: 5, in: 1...IssueFacets.maximumValues)
        return .page(try await life.facets.tags(of: try await context.issue(life.reader, in: space), values: values))
    }
}

/// `GET /crashes/issues/{issue}/tags/{tag}`: the values of a tag, most frequent first.
struct ListTagValues: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/tags/{tag}", "listIssueTagValues", "The values of a tag, commonest first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .path("issue", .integer.minimum(1), "Its number.")
        ],
        answers: [
            .answer(200, "The values.", .json(.object))
        ],
        errors: [404: "There is no such issue (`issue-not-found`)."])

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        return .page(
            try await life.facets.values(
                of: context.component("tag"), of: try await context.issue(life.reader, in: space)))
    }
}

/// `GET /crashes/issues/{issue}/releases`: the releases in which the issue was seen, newest first.
struct ListIssueReleases: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/releases", "listIssueReleases", "The releases it was seen in, newest first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .path("issue", .integer.minimum(1), "Its number.")
        ],
        answers: [
            .answer(200, "The releases.", .json(.object))
        ],
        errors: [404: "There is no such issue (`issue-not-found`)."])

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        return .page(try await life.facets.releases(of: try await context.issue(life.reader, in: space)))
    }
}

/// `GET /crashes/issues/{issue}/active`: the configurations and experiment variants that were active when the issue
/// occurred.
struct ReadActive: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/active", "readIssueActive", "The configurations and variants that were active.",
        callers: .manager(.read, .crashes),
        parameters: [
            .path("issue", .integer.minimum(1), "Its number.")
        ],
        answers: [
            .answer(200, "Of the newest 10,000 reports.", .json(.object))
        ],
        errors: [404: "There is no such issue (`issue-not-found`)."])

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        return .json(try await life.facets.active(in: try await context.issue(life.reader, in: space)))
    }
}

/// `GET /crashes/releases?days=&environment=&name=&offset=&limit=`: the releases, newest first, with their crash-free
/// sessions and users.
struct ListReleases: Endpoint {
    static let route = Route(
        .get, "/crashes/releases", "listReleases", "Releases, newest first, with sessions and users free of crashes.",
        callers: .manager(.read, .crashes),
        parameters: [
            .query("days", .integer.range(1, 90).defaulting(to: 30)),
            .query("environment"),
            .query("name", .string, "A release's name or version."),
            .query("offset", .integer.minimum(0).defaulting(to: 0)),
            .query("limit", .integer.range(1, 100).defaulting(to: 20)),
        ],
        answers: [
            .answer(200, "The releases.", .json(.object))
        ])

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        let days = try request.number("days", default: 30, in: 1...ReleaseHealth.maximumDays)
        let limit = try request.number("limit", default: 20, in: 1...100)
        let offset = try request.number("offset", default: 0, in: 0...100_000)
        let list = try await life.releases.list(
            days: days, stage: try request.shortText("environment", upTo: 200),
            name: try request.shortText("name", upTo: 250), offset: offset,
            limit: limit + 1, in: space)
        return .page(list.prefix(limit), next: list.count > limit ? String(offset + limit) : nil)
    }
}
