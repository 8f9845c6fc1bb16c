import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /notifications/messages`: orders a message. 201 with the message; 200 with the first message for a known
/// `Idempotency-Key`, even if its template, segment or time have changed since.
///
/// With the master key, or as staff who may create notifications: takes a `MessageRequest`. If the app has no
/// credential for the push service of some devices, `withoutCredential` counts them. If none can be reached, nothing is
/// ordered: `push-credential-missing`.
///
/// A signed-in user may send what the app's rules allow (`ClientRules`):
/// `{"template","variables","audience":{"users":[…]}}`, or `{"channels":[…]}` as the audience. The answer has the
/// message's `id`, `template` and `created`, but does not reveal who gets it.
struct PostMessage: Endpoint {
    static let route = Route(
        .post, "/notifications/messages", "sendMessage", "Orders a push message.",
        callers: .kinds([.client, .master, .staff]),
        parameters: [
            .header("Idempotency-Key", .string.maxLength(200))
        ],
        details: """
            With the master key whatever is asked. A signed-in user sends `template`, `variables` and `audience` \
            (`users` or `channels`) as the app's client-rules allow, and gets `id`, `template` and `created`.
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
                200, "The message of the same `Idempotency-Key`.",
                .json(
                    .anyOf(
                        .pushMessage,
                        .pushClientMessage))),
            .answer(
                201, "The message.",
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
            404: "There is no such template or segment (`template-not-found`, `segment-not-found`).",
            409: """
            No device of the audience can be reached: the app has no credential for their push services \
            (`push-credential-missing`).
            """, 413: "The body has more than 320 KiB (`payload-too-large`).",
            422: "The key came with another request (`idempotency-key-reused`).",
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
            throw HTTPProblem(.forbidden, "Sign in first, or send the message from the app's server.")
        }
        let space = try await messages.spaces.space(of: principal)
        let key = try request.idempotencyKey
        let fields = try await BodyFields(request, Self.clientNames, upTo: Self.maximumClientBodySize)
        guard let template = try fields.text("template", upTo: 64) else {
            throw HTTPProblem(.invalidBody, "This field is required: users can send templates only.", field: "template")
        }
        guard let audience = fields.object("audience") else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "audience")
        }
        let recipients = try BodyFields(audience, ["users", "channels"])
        let send = ClientSend(
            template: template, variables: fields.object("variables") ?? .object([]),
            users: try recipients.strings("users", upTo: Audience.maximumDirect) ?? [],
            channels: try recipients.strings("channels", upTo: Audience.maximumDirect) ?? [], sender: sender,
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
