import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `PUT /hooks/{name}` with `{"event","collection"?,"url","timeoutMilliseconds"?,"enabled"?,"callers"?}`: makes or
/// changes a hook; master key.
///
/// A new one is answered with 201 and its `secret`, which is not shown again. In force at once in this copy of the
/// service and within a second in the others.
struct SetHook: Endpoint {
    static let route = Route(
        .put, "/hooks/{name}", "setHook", "Makes or changes a hook.", callers: .server,
        parameters: [
            .path("name", .string, "A letter, then at most 62 letters, digits, `_` or `-`.")
        ],
        details: "A new one is answered with its secret, which is not shown again.",
        body: .json(.hook),
        answers: [
            .answer(200, "The hook was changed.", .json(.hook)),
            .answer(201, "The hook is new.", .json(.newHookSecret)),
        ])

    let hooks: HookStore
    let client: HookClient
    let secrets: HookSecrets

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.managedSpace)
        let body = try await request.decoded(HookBody.self)
        guard body.name == nil || body.name == name.text else {
            throw HTTPProblem(.invalidBody, "The body's name is not the address's.", field: "name")
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

/// The one time that a secret is shown.
struct NewSecret: Encodable {
    var hook: HookBody
    var secret: String
}
