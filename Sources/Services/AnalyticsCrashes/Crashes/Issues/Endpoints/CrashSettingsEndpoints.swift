import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ReadCrashSettings: Endpoint {
    static let route = Route(
        .get, "/crashes/settings", "readCrashSettings", "Returns how long the app's crash reports are kept.",
        callers: .manager(.read, .crashes),
        answers: [
            .answer(200, "`retentionDays`; null means the server's retention period.", .json(.object))
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        return .json(
            #"{"retentionDays":\#(try await tracking.retention.read(in: space).map { String($0) } ?? "null")}"#)
    }
}

/// Older reports are deleted; counts stay. An app cannot exceed the server's retention period.
struct SetCrashSettings: Endpoint {
    static let route = Route(
        .put, "/crashes/settings", "setCrashSettings", "Sets how long the app's crash reports are kept.",
        callers: .manager(.update, .crashes), needsConfirmation: true,
        body: .json(
            .object(
                [
                    "retentionDays": .integer.range(1, 3_650).nullable
                ], required: ["retentionDays"])),
        answers: [
            .answer(200, "`retentionDays` as stored; null means the server's retention period.", .json(.object))
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, tracking.spaces)
        let body = try await BodyFields(request, ["retentionDays"])
        guard body["retentionDays"] != nil else {
            throw ServiceError(.invalidBody, "This field is required.", field: "retentionDays")
        }
        let days = try body.integer("retentionDays", in: SpaceRetention.days)
        try await tracking.retention.set(days, by: author, in: space)
        return .json(#"{"retentionDays":\#(days.map { String($0) } ?? "null")}"#)
    }
}
