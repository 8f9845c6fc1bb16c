import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `GET /crashes/settings`: `{"retentionDays":n}`; null means the server's retention period.
struct ReadCrashSettings: Endpoint {
    static let route = Route(
        .get, "/crashes/settings", "readCrashSettings", "How long reports are kept.",
        callers: .manager(.read, .crashes),
        answers: [
            .answer(200, "`{\"retentionDays\":n}`", .json(.object))
        ])

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, life.spaces)
        return .json(#"{"retentionDays":\#(try await life.retention.read(in: space).map { String($0) } ?? "null")}"#)
    }
}

/// `PUT /crashes/settings` with `{"retentionDays":n}`: older reports are deleted, counts stay. Null means the server's
/// retention period, which no app can exceed.
struct SetCrashSettings: Endpoint {
    static let route = Route(
        .put, "/crashes/settings", "setCrashSettings", "Sets how long reports are kept.",
        callers: .manager(.update, .crashes),
        body: .json(
            .object(
                [
                    "retentionDays": .integer.range(1, 3_650).nullable
                ], required: ["retentionDays"])),
        answers: [
            .answer(200, "As it is then.", .json(.object))
        ])

    let life: IssueLife

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, life.spaces)
        let body = try await BodyFields(request, ["retentionDays"])
        guard body["retentionDays"] != nil else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "retentionDays")
        }
        let days = try body.integer("retentionDays", in: SpaceRetention.days)
        try await life.retention.set(days, by: author, in: space)
        return .json(#"{"retentionDays":\#(days.map { String($0) } ?? "null")}"#)
    }
}
