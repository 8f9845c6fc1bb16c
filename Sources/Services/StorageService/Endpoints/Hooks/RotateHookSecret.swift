import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /hooks/{name}/secret`: a new secret, shown this once; for a day requests bear the signatures of both. Master
/// key.
struct RotateHookSecret: Endpoint {
    let hooks: HookStore
    let secrets: HookSecrets

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (name, space) = (try context.hookName, try context.managedSpace)
        try await request.allowNoBody()
        let hook = try await hooks.rotateSecret(of: name, in: space)
        guard let secret = secrets.secrets(of: hook, in: space).first else { throw HTTPProblem(.internalError) }
        return try Response.encoding(NewSecret(hook: HookBody(hook), secret: secret.text.withValue { $0 })).notStored
    }
}
