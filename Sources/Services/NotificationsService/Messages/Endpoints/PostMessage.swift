import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Idempotent with an `Idempotency-Key`: returns the first message even if its template, segment or time have changed
/// since.
///
/// The app's server, and staff who may create notifications, send a `MessageRequest`. If no device can be reached,
/// no message is created. Signed-in users may send what the app's `ClientRules` allow; the answer to them does not
/// reveal who receives the message.
struct PostMessage: Endpoint {
    static let route = Route(
        .post, "/notifications/messages", "sendMessage", "Sends a push message.",
        callers: .appsAndStaff,
        parameters: [
            .header("Idempotency-Key", .string.maxLength(200))
        ],
        details: """
            The app's server can send any message, and so can staff with the right to `create` in the area \
            `notifications`. A signed-in user can send what the app's client rules allow: `template`, `variables` and \
            `audience` with `users` or `channels`. The answer to a user has only `id`, `template` and `created`. \
            `withoutCredential` counts the devices that cannot be reached, because the app has no credential for \
            their push service.
            """,
        body: .json(
            .object(
                [
                    "content": .pushContent,
                    "template": .string,
                    "variables": .object,
                    "audience": .pushAudience,
                    "timing": .pushTiming,
                    "due": .time,
                    "expires": .time,
                ], required: ["audience"])),
        answers: [
            .answer(
                200, "The message ordered earlier with the same `Idempotency-Key`.",
                .json(
                    .anyOf(
                        .pushMessage,
                        .pushClientMessage))),
            .answer(
                201, "The message as ordered.",
                .json(
                    .anyOf(
                        .all(
                            .pushMessage,
                            .object(
                                [
                                    "withoutCredential": .pushWithoutCredential
                                ])),
                        .pushClientMessage))),
        ],
        errors: [
            404: "The app has no such template or segment (`template-not-found`, `segment-not-found`).",
            409: """
            No device of the audience can be reached, because the app has no credential for their push services \
            (`push-credential-missing`).
            """, 413: "The body is larger than 320 KiB, or 32 KiB from a user (`payload-too-large`).",
            422: "The `Idempotency-Key` was used with a different request (`idempotency-key-reused`).",
        ])

    private static let clientNames: Set<String> = ["template", "variables", "audience"]
    private static let maximumClientBodySize = 32 << 10

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        if principal.kind == .client { return try await send(request, principal) }
        let (space, author) = try await context.notifications(may: .create, messages.spaces)
        let origin = try request.idempotencyKey.map { "key:" + $0 }
        let fields = try await BodyFields(request, MessageRequest.names, upTo: MessageRequest.maximumBodySize)
        let digest = origin.map { _ in fields.digest(of: MessageRequest.names) }
        if let origin, let known = try await messages.store.known(origin, digest: digest, in: space) {
            return .json(JSONValue.object(known.json).text)
        }
        let order = try await MessageRequest(fields, messages.templates, in: space).order(
            by: author, origin: origin, digest: digest)
        let unreached = try await messages.reach.unreached(
            order.audience, content: order.content, isExact: false, in: space)
        try unreached.check()
        let (message, isNew) = try await messages.store.postgres.withTransaction {
            try await messages.store.createOrFind(order, in: space, $0)
        }
        return .json(
            ByteBuffer(string: JSONValue.object(message.json + unreached.members).text), status: isNew ? .created : .ok)
    }

    private func send(_ request: Request, _ principal: Principal) async throws -> Response {
        guard let sender = principal.userID else {
            throw ServiceError(.forbidden, "Sign in first, or send the message from the app's server.")
        }
        let space = try await messages.spaces.space(of: principal)
        let key = try request.idempotencyKey
        let fields = try await BodyFields(request, Self.clientNames, upTo: Self.maximumClientBodySize)
        guard let template = try fields.text("template", upTo: 64) else {
            throw ServiceError(
                .invalidBody, "This field is required: users can send templates only.", field: "template")
        }
        guard let audience = fields.object("audience") else {
            throw ServiceError(.invalidBody, "This field is required.", field: "audience")
        }
        let (users, channels) = try ServiceError.inside("audience") { () throws -> ([String], [String]) in
            let recipients = try BodyFields(audience, ["users", "channels"])
            return (
                try recipients.strings("users", upTo: Audience.maximumDirect) ?? [],
                try recipients.strings("channels", upTo: Audience.maximumDirect) ?? []
            )
        }
        let send = ClientSend(
            template: template, variables: fields.object("variables") ?? .object([]), users: users, channels: channels,
            sender: sender,
            idempotencyKey: key.map { "key:" + $0 },
            digest: key.map { _ in fields.digest(of: Self.clientNames) })
        let (message, isNew) = try await messages.clients.send(send, in: space)
        let answer: [JSONValue.Member] = [
            .init("id", .string(message.id.uuidString.lowercased())), .init("template", .string(template)),
            .init("created", .string(message.created.rfc3339)),
        ]
        return .json(ByteBuffer(string: JSONValue.object(answer).text), status: isNew ? .created : .ok)
    }
}
