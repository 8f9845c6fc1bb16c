import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /analytics/settings`: how events are taken and kept.
struct ReadSettings: Endpoint {
    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        _ = try context.author(may: .read, .analytics)
        return try .encoding(SettingsBody(try await events.settings.settings(of: try await events.spaces.space(of: try context.principal))))
    }
}

/// `PUT /analytics/settings`: sets those that are in the body, and leaves the others; 200 with all.
struct ChangeSettings: Endpoint {
    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let author = try context.author(may: .update, .analytics)
        let fields = try await BodyFields(request, ["retentionDays", "privacy", "isCollecting", "timeZone"])
        let space = try await events.spaces.space(of: try context.principal)
        var settings = try await events.settings.settings(of: space)
        if let days = try fields.integer("retentionDays", in: SpaceSettings.retentionRange) { settings.retentionDays = days }
        if let privacy = try fields.string("privacy") {
            guard let known = SpaceSettings.Privacy(rawValue: privacy) else {
                throw HTTPProblem(.invalidBody, "This must be standard or strict.", field: "privacy")
            }
            settings.privacy = known
        }
        if let isCollecting = try fields.flag("isCollecting") { settings.isCollecting = isCollecting }
        if let zone = try fields.string("timeZone") { settings.timeZone = zone }
        try await events.settings.set(settings, of: space, by: author)
        return try .encoding(SettingsBody(settings))
    }
}

private struct SettingsBody: Encodable {
    var retentionDays: Int
    var privacy: String
    var isCollecting: Bool
    var timeZone: String

    init(_ settings: SpaceSettings) {
        retentionDays = settings.retentionDays
        privacy = settings.privacy.rawValue
        isCollecting = settings.isCollecting
        timeZone = settings.timeZone
    }
}
