import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /hooks/{name}/secret`: a new secret, shown this once; for a day requests bear the signatures of both. Master
/// key.
struct RotateHookSecret: Endpoint {
    static let route = Route(
        .post, "/hooks/{name}/secret", "rotateHookSecret",
        "A new secret; for a day requests bear the signatures of both.", callers: .server,
        parameters: [
            .path("name", .string, "A letter, then at most 62 letters, digits, `_` or `-`.")
        ],
        answers: [
            .answer(200, "The secret, shown this once.", .json(.newHookSecret))
        ],
        errors: [404: "There is no such hook (`hook-not-found`)."])

    let hooks: HookStore
    let secrets: HookSecrets

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.managedSpace)
        let hook = try await hooks.rotateSecret(of: name, in: space)
        guard let secret = secrets.secrets(of: hook, in: space).first else { throw HTTPProblem(.internalError) }
        return try Response.encoding(NewSecret(hook: HookBody(hook), secret: secret.text.withValue { $0 })).notStored
    }
}
