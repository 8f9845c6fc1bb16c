import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct RotateHookSecret: Endpoint {
    static let route = Route(
        .post, "/hooks/{name}/secret", "rotateHookSecret",
        "Creates a new secret for a hook. For a day, requests are signed with both secrets.",
        callers: .manager(.update, .storage),
        parameters: [
            .hookName
        ],
        answers: [
            .answer(200, "The hook with its new secret, which is not shown again.", .json(.newHookSecret))
        ],
        errors: [404: "The app has no such hook (`hook-not-found`)."])

    let hooks: HookStore
    let secrets: HookSecrets

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.space)
        let hook = try await hooks.rotateSecret(of: name, in: space)
        guard let secret = secrets.secrets(of: hook, in: space).first else { throw ServiceError(.internalError) }
        return try Response.encoding(NewSecret(hook: HookBody(hook), secret: secret.text.withValue { $0 })).notStored
    }
}
