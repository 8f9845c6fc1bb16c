import Hummingbird
import MartletHTTP

/// `GET /auth/settings`: how users sign up and what is mailed to them, for the app's own server.
struct ReadSettings: Endpoint {
    static let route = Route(
        .get, "/auth/settings", "readAuthSettings",
        "How users sign up, and what is mailed to them. Needs the master key.", callers: .server,
        answers: [
            .answer(200, "The settings.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let settings: AppSettingsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        settings.forget(space)
        return try .encoding(try await settings.current(in: space).settings)
    }
}

/// `PUT /auth/settings`, for the app's own server: all settings, those that are not there as in a new app. 200 with
/// them; other copies of the service follow within five seconds.
struct ReplaceSettings: Endpoint {
    static let route = Route(
        .put, "/auth/settings", "replaceAuthSettings", "Replaces all settings. Needs the master key.", callers: .server,
        body: .json(
            .object(
                [
                    "inviteOnly": .boolean,
                    "refuseDisposable": .boolean,
                    "signUpByMail": .boolean,
                    "requireVerifiedEmail": .boolean,
                    "verifyOnSignUp": .boolean,
                    "notices": .boolean,
                    "linkURLs": .array(of: .string).maxItems(20),
                    "language": .string,
                    "mailsPerHour": .integer.range(1, 1_000_000),
                ]), isRequired: false),
        answers: [
            .answer(200, "The settings.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let settings: AppSettingsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let new = try AppSettings(try await BodyFields(request, AppSettings.names))
        try await settings.replace(new, in: space)
        return try .encoding(new)
    }
}
