import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /notifications/messages`: orders a message (`MessageRequest`); 201 with it, 200 with the first one's for a known `Idempotency-Key`, whatever has
/// become of its template, its segment and its time since.
///
/// Master key, or staff who may create notifications.
struct PostMessage: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, author) = try await context.notifications(may: .create, messages.spaces)
        let origin = try request.idempotencyKey.map { "key:" + $0 }
        let fields = try await BodyFields(request, MessageRequest.names, upTo: MessageRequest.maximumBodySize)
        let digest = origin.map { _ in fields.digest(of: MessageRequest.names) }
        if let origin, let known = try await messages.store.known(origin, digest: digest, in: space) { return .json(JSONValue.object(known.json).text) }
        let order = try await MessageRequest(fields, messages.templates, in: space).order(by: author, origin: origin, digest: digest)
        let (message, isNew) = try await messages.store.postgres.withTransaction {
            try await messages.store.createOrFind(order, in: space, $0)
        }
        return .json(ByteBuffer(string: JSONValue.object(message.json).text), status: isNew ? .created : .ok)
    }
}
