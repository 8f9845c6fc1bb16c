import Hummingbird
import MartletHTTP

/// `GET /auth/settings`: how users sign up and what is mailed to them, for the app's own server.
struct ReadSettings: Endpoint {
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
    let settings: AppSettingsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let new = try AppSettings(try await BodyFields(request, AppSettings.names))
        try await settings.replace(new, in: space)
        return try .encoding(new)
    }
}
