import Hummingbird
import MartletAPI
import MartletHTTP

struct ReadSettings: Endpoint {
    static let route = Route(
        .get, "/auth/settings", "readAuthSettings",
        "Returns the app's settings for sign-up and mail.", callers: .manager(.read, .users),
        answers: [
            .answer(200, "The settings.", .json(.object))
        ])

    let settings: AppSettingsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        settings.forget(space)
        return try .encoding(try await settings.current(in: space).settings)
    }
}

struct ReplaceSettings: Endpoint {
    static let route = Route(
        .put, "/auth/settings", "replaceAuthSettings", "Replaces the app's settings for sign-up and mail.",
        callers: .manager(.update, .users),
        details: """
            Settings that are left out get their defaults. Other instances of the service use the new settings \
            within five seconds.
            """,
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
                ])),
        answers: [
            .answer(200, "The settings as stored.", .json(.object))
        ])

    let settings: AppSettingsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let new = try AppSettings(try await BodyFields(request, AppSettings.names))
        try await settings.replace(new, in: space)
        return try .encoding(new)
    }
}
