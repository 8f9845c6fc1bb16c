import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /notifications/messages`: orders a message (`MessageRequest`); 201 with it, 200 with the first one's for a known `Idempotency-Key`.
///
/// Master key, or staff who may create notifications.
struct PostMessage: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, author) = try await context.notifications(may: .create, messages.spaces)
        let order = try await MessageRequest(request, messages.templates, in: space).order(by: author, key: try request.idempotencyKey)
        let (message, isNew) = try await messages.store.postgres.withTransaction {
            try await messages.store.createOrFind(order, in: space, $0)
        }
        return .json(ByteBuffer(string: JSONValue.object(message.json).text), status: isNew ? .created : .ok)
    }
}
