import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `GET /crashes/issues/{issue}/counts?interval=month|day|hour&steps=&to=`: how often the issue occurred over time, by
/// default in the last 12 months; and `GET /crashes/counts?…`, the same for all issues together.
struct ReadCounts: Endpoint {
    let life: IssueLife
    let isOfIssue: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters(["interval", "steps", "to"])
        let (interval, steps, last) = try IssueLine.Interval.line(of: request)
        let issue = isOfIssue ? try await context.issue(life.reader, in: space) : nil
        return .page(try await life.line.read(interval, steps: steps, endingAt: last, of: issue, in: space))
    }
}

/// `GET /crashes/issues/{issue}/tags?values=`: the tags of its reports, each with its most frequent values.
struct ListTags: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters(["values"])
        let values = try request.number("values", default: 5, in: 1...IssueFacets.maximumValues)
        return .page(try await life.facets.tags(of: try await context.issue(life.reader, in: space), values: values))
    }
}

/// `GET /crashes/issues/{issue}/tags/{tag}`: the values of a tag, most frequent first.
struct ListTagValues: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters()
        return .page(
            try await life.facets.values(
                of: context.component("tag"), of: try await context.issue(life.reader, in: space)))
    }
}

/// `GET /crashes/issues/{issue}/releases`: the releases in which the issue was seen, newest first.
struct ListIssueReleases: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters()
        return .page(try await life.facets.releases(of: try await context.issue(life.reader, in: space)))
    }
}

/// `GET /crashes/issues/{issue}/active`: the configurations and experiment variants that were active when the issue
/// occurred.
struct ReadActive: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters()
        return .json(try await life.facets.active(in: try await context.issue(life.reader, in: space)))
    }
}

/// `GET /crashes/releases?days=&environment=&name=&offset=&limit=`: the releases, newest first, with their crash-free
/// sessions and users.
struct ListReleases: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters(["days", "environment", "name", "offset", "limit"])
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
