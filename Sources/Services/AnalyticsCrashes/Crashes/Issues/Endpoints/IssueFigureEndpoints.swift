import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// Counts the reports of an issue, or of all issues, over time.
struct ReadCounts: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/counts", "readIssueCounts",
        "Counts the reports of an issue by month, day or hour (UTC).", callers: .manager(.read, .crashes),
        parameters: [
            .issue,
            .query("interval", .oneOf("month", "day", "hour").defaulting(to: "month")),
            .query(
                "steps", .integer.minimum(1),
                """
                The number of steps; by default 12 months, 30 days or 24 hours, at most 36 months, 366 days or 168 \
                hours.
                """),
            .query("to", .time, "A time within the last step; by default now."),
        ],
        answers: [
            .answer(200, "The number of reports in each step, oldest first.", .json(.crashCounts))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])
    static let readCrashCounts = Route(
        .get, "/crashes/counts", "readCrashCounts", "Counts the reports of all issues by month, day or hour (UTC).",
        callers: .manager(.read, .crashes),
        parameters: [
            .query("interval", .oneOf("month", "day", "hour").defaulting(to: "month")),
            .query(
                "steps", .integer.minimum(1),
                """
                The number of steps; by default 12 months, 30 days or 24 hours, at most 36 months, 366 days or 168 \
                hours.
                """),
            .query("to", .time, "A time within the last step; by default now."),
        ],
        answers: [
            .answer(200, "The number of reports in each step, oldest first.", .json(.crashCounts))
        ])

    let tracking: IssueTracking
    let isOfIssue: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let (interval, steps, last) = try IssueTimeline.Interval.parameters(of: request, at: tracking.now())
        let issue = isOfIssue ? try await context.issue(tracking.reader, in: space) : nil
        return .page(try await tracking.timeline.read(interval, steps: steps, endingAt: last, of: issue, in: space))
    }
}

struct ListTags: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/tags", "listIssueTags",
        "Lists the tags of an issue's reports, each with its most frequent values.",
        callers: .manager(.read, .crashes),
        parameters: [
            .issue,
            .query("values", .integer.range(1, 100).defaulting(to: 5)),
        ],
        answers: [
            .answer(200, "The tags by name.", .json(.object))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let values = try request.number("values", default: 5, in: 1...IssueFacets.maximumValues)
        return .page(
            try await tracking.facets.tags(of: try await context.issue(tracking.reader, in: space), values: values))
    }
}

struct ListTagValues: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/tags/{tag}", "listIssueTagValues",
        "Lists the values of a tag in an issue's reports, most frequent first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .issue
        ],
        answers: [
            .answer(200, "The values.", .json(.object))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        return .page(
            try await tracking.facets.values(
                of: context.component("tag"), of: try await context.issue(tracking.reader, in: space)))
    }
}

struct ListIssueReleases: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/releases", "listIssueReleases",
        "Lists the releases in which an issue was seen, newest first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .issue
        ],
        answers: [
            .answer(200, "The releases.", .json(.object))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        return .page(try await tracking.facets.releases(of: try await context.issue(tracking.reader, in: space)))
    }
}

struct ReadActive: Endpoint {
    static let route = Route(
        .get, "/crashes/issues/{issue}/active", "readIssueActive",
        "Returns the configurations and experiment variants that were active when an issue occurred.",
        callers: .manager(.read, .crashes),
        parameters: [
            .issue
        ],
        answers: [
            .answer(
                200, "The configurations and variants, with their shares of the newest 10,000 reports.", .json(.object))
        ],
        errors: [404: "The app has no such issue (`issue-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        return .json(try await tracking.facets.active(in: try await context.issue(tracking.reader, in: space)))
    }
}

struct ListReleases: Endpoint {
    static let route = Route(
        .get, "/crashes/releases", "listReleases",
        "Lists releases with their crash-free sessions and users, newest first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .query("days", .integer.range(1, 90).defaulting(to: 30)),
            .query("environment"),
            .query("name", .string, "The name or version of a release."),
            .query("offset", .integer.range(0, 100_000).defaulting(to: 0)),
            .query("limit", .integer.range(1, 100).defaulting(to: 20)),
        ],
        answers: [
            .answer(200, "A page of releases.", .json(.object))
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        let days = try request.number("days", default: 30, in: 1...ReleaseHealth.maximumDays)
        let limit = try context.integer("limit")
        let offset = try context.integer("offset")
        let list = try await tracking.releases.list(
            days: days, stage: try request.shortText("environment", upTo: 200),
            name: try request.shortText("name", upTo: 250), offset: offset,
            limit: limit + 1, in: space)
        return .page(list.prefix(limit), next: list.count > limit ? String(offset + limit) : nil)
    }
}
