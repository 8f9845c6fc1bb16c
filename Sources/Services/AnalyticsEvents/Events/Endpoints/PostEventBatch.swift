import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Accepts a batch of messages. Invalid messages are rejected one by one. The answer is 200 even if all messages are
/// rejected.
///
/// Idempotent for messages with an id. If a user is signed in, all messages count as this user's, whatever ids they
/// contain.
struct PostEventBatch: Endpoint {
    static let route = Route(
        .post, "/segment/v1/batch", "segmentBatch",
        "Accepts a batch of messages from Segment's clients, optionally compressed with gzip, deflate, br or zstd.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .json(.eventBatch),
        answers: [
            .answer(
                200,
                """
                The number of accepted messages, and the reasons for rejecting the others. Accepted messages are \
                stored durably unless the person opted out or the app does not collect events.
                """,
                .json(.takenEvents))
        ],
        errors: [
            415: "The body has a `Content-Encoding` other than gzip, deflate, br or zstd (`unsupported-media-type`)."
        ])
    static let segmentMobileBatch = route.at(
        "/segment/v1/b", "segmentMobileBatch",
        "Accepts a batch of messages from Segment's mobile clients.")
    static let sendEvents = Route(
        .post, "/events", "sendEvents",
        "Accepts a batch of messages from the app; those of a signed-in user are attributed to that user.",
        callers: .client,
        body: .json(.eventBatch),
        answers: [
            .answer(
                200,
                """
                The number of accepted messages, and the reasons for rejecting the others. Accepted messages are \
                stored durably unless the person opted out or the app does not collect events.
                """,
                .json(.takenEvents))
        ],
        errors: [
            415: "The body has a `Content-Encoding` other than gzip, deflate, br or zstd (`unsupported-media-type`)."
        ])

    let intake: EventIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let origin = try await intake.origin(of: request, context)
        let batch = try EventBatch(try await intake.body(of: request), origin)
        try await intake.events.take(batch.events, in: origin.space, origin.settings)
        return try .encoding(Answer(accepted: batch.accepted, rejected: batch.rejected.isEmpty ? nil : batch.rejected))
    }

    struct Answer: Encodable {
        var success = true
        var accepted: Int
        var rejected: [EventBatch.Rejection]?
    }
}
