import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ReadSettings: Endpoint {
    static let route = Route(
        .get, "/analytics/settings", "readAnalyticsSettings", "Returns the settings for collecting and keeping events.",
        callers: .manager(.read, .analytics),
        answers: [
            .answer(200, "All settings.", .json(.analyticsSettings))
        ])

    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .analytics)
        return try .encoding(
            SettingsBody(
                try await events.settings.stored(of: try await events.spaces.space(of: try context.principal))))
    }
}

struct ChangeSettings: Endpoint {
    static let route = Route(
        .put, "/analytics/settings", "changeAnalyticsSettings",
        "Changes the settings in the body and leaves the others as they are.",
        callers: .manager(.update, .analytics), needsConfirmation: true,
        body: .json(.analyticsSettings),
        answers: [
            .answer(200, "All settings after the change.", .json(.analyticsSettings))
        ])

    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let author = try context.author(may: .update, .analytics)
        let fields = try await BodyFields(request, ["retentionDays", "privacy", "isCollecting", "timeZone"])
        let timeZone = try fields.string("timeZone")
        guard timeZone.map({ TimeZone(iana: $0) != nil }) ?? true else {
            throw ServiceError(
                .invalidBody, "Expected the name of an IANA time zone, such as Europe/Zurich.", field: "timeZone")
        }
        let space = try await events.spaces.space(of: try context.principal)
        let change = SettingsChange(
            retentionDays: try fields.integer("retentionDays", in: SpaceSettings.retentionRange),
            privacy: try Self.privacy(fields),
            isCollecting: try fields.flag("isCollecting"), timeZone: timeZone)
        return try .encoding(SettingsBody(try await events.settings.change(change, of: space, by: author)))
    }

    private static func privacy(_ fields: BodyFields) throws -> SpaceSettings.Privacy? {
        guard let name = try fields.string("privacy") else { return nil }
        guard let privacy = SpaceSettings.Privacy(rawValue: name) else {
            throw ServiceError.unexpectedMember("privacy", expected: "standard or strict", found: name)
        }
        return privacy
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
