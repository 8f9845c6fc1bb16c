import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /segment/v1/track` and its like: one message, 200 with `{"success":true,"accepted":1}` when it is stored.
struct TakeMessage: Endpoint {
    let kind: EventKind
    let intake: EventIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let origin = try await intake.origin(of: request, context, for: [.ingest])
        let batch = try EventBatch(message: try await intake.body(of: request), kind, origin)
        try await intake.events.take(batch.events, in: origin.space, origin.settings)
        return try .encoding(TakeBatch.Answer(accepted: batch.accepted))
    }
}
