import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /segment/v1/batch`, `/segment/v1/b` and `POST /events`: `{"batch":[…],"sentAt"}`, 200 when what is good of it
/// is stored, also when nothing was: `{"success":true,"accepted":n,"rejected":[{"index","field","reason"}]}`.
///
/// A batch that comes again changes nothing. Of a user who is signed in everything is theirs, whatever the messages
/// say.
struct TakeBatch: Endpoint {
    static let route = Route(
        .post, "/segment/v1/batch", "segmentBatch",
        "Segment: a batch of messages, perhaps packed by gzip, deflate, br or zstd.", callers: .ingestKeys,
        checksOwnQuery: true,
        body: .json(.eventBatch),
        answers: [
            .answer(200, "What is good is stored for good; `rejected` lists the others.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])
    static let segmentMobileBatch = route.at(
        "/segment/v1/b", "segmentMobileBatch",
        """
        The same, as mobile clients call it; those that name their key in the body only, at \
        `/segment/v1/projects/{ingestKey}/b`. Every path of these exists there.
        """)
    static let sendEvents = Route(
        .post, "/events", "sendEvents",
        "A batch of messages by the app itself. Of a user who is signed in all are theirs.", callers: .client,
        body: .json(.eventBatch),
        answers: [
            .answer(200, "What is good is stored for good; `rejected` lists the others.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])

    let intake: EventIntake
    /// Whom it is for.
    let kinds: Set<Principal.Kind>

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let origin = try await intake.origin(of: request, context, for: kinds)
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
