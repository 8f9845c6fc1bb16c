import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `GET /crashes/settings`: `{"retentionDays":n}`; null means the server's retention period.
struct ReadCrashSettings: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        try request.allowParameters()
        return .json(#"{"retentionDays":\#(try await life.retention.read(in: space).map { String($0) } ?? "null")}"#)
    }
}

/// `PUT /crashes/settings` with `{"retentionDays":n}`: older reports are deleted, counts stay. Null means the server's
/// retention period, which no app can exceed.
struct SetCrashSettings: Endpoint {
    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, life.spaces)
        try request.allowParameters()
        let body = try await BodyFields(request, ["retentionDays"])
        guard body["retentionDays"] != nil else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "retentionDays")
        }
        let days = try body.integer("retentionDays", in: SpaceRetention.days)
        try await life.retention.set(days, by: author, in: space)
        return .json(#"{"retentionDays":\#(days.map { String($0) } ?? "null")}"#)
    }
}
