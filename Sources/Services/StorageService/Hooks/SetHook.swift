import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Takes effect immediately in this copy of the service and within a second in the others.
struct SetHook: Endpoint {
    static let route = Route(
        .put, "/hooks/{name}", "setHook", "Creates or replaces a hook.", callers: .manager(.update, .storage),
        parameters: [
            .hookName
        ],
        details: "The answer to the creation of a hook has its secret, which is not shown again.",
        body: .json(.hook),
        answers: [
            .answer(200, "The hook as stored.", .json(.hook)),
            .answer(201, "The new hook with its secret.", .json(.newHookSecret)),
        ],
        errors: [409: "The app already has a hook with the event `scanFile` (`conflict`)."])

    let hooks: HookStore
    let client: HookClient
    let secrets: HookSecrets

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.space)
        let body = try await request.decoded(HookBody.self)
        guard body.name == nil || body.name == name.text else {
            throw ServiceError(.invalidBody, "The name in the body differs from that in the path.", field: "name")
        }
        try body.check()
        try await client.check(body.url)
        let (hook, isNew) = try await hooks.set(body, name, of: space)
        guard isNew, let secret = secrets.secrets(of: hook, in: space).first else {
            return try .encoding(HookBody(hook))
        }
        return try Response.encoding(
            NewSecret(hook: HookBody(hook), secret: secret.text.withValue { $0 }), status: .created
        ).notStored
    }
}

/// A hook with its secret, for the answers that show it.
struct NewSecret: Encodable {
    var hook: HookBody
    var secret: String
}
