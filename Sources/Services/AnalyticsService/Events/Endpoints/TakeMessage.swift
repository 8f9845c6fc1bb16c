import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /segment/v1/track` and its like: one message, 200 with `{"success":true,"accepted":1}` when it is stored.
struct TakeMessage: Endpoint {
    static let route = Route(
        .post, "/segment/v1/identify", "segmentIdentify", "Segment: one message, whose `type` is in the path.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .json(.eventMessage),
        answers: [
            .answer(200, "What is good is stored for good; `rejected` lists the others.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])
    static let segmentTrack = route.at("/segment/v1/track", "segmentTrack")
    static let segmentScreen = route.at("/segment/v1/screen", "segmentScreen")
    static let segmentPage = route.at("/segment/v1/page", "segmentPage")
    static let segmentGroup = route.at("/segment/v1/group", "segmentGroup")
    static let segmentAlias = route.at("/segment/v1/alias", "segmentAlias")
    static let segmentBrowserIdentify = Route(
        .post, "/segment/v1/i", "segmentBrowserIdentify", "`/segment/v1/identify`, as analytics.js calls it.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .contents(.type("text/plain", .eventMessage)),
        answers: [
            .answer(200, "It is stored for good.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])
    static let segmentBrowserTrack = Route(
        .post, "/segment/v1/t", "segmentBrowserTrack", "`/segment/v1/track`, as analytics.js calls it.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .contents(.type("text/plain", .eventMessage)),
        answers: [
            .answer(200, "It is stored for good.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])
    static let segmentBrowserScreen = Route(
        .post, "/segment/v1/s", "segmentBrowserScreen", "`/segment/v1/screen`, as analytics.js calls it.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .contents(.type("text/plain", .eventMessage)),
        answers: [
            .answer(200, "It is stored for good.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])
    static let segmentBrowserPage = Route(
        .post, "/segment/v1/p", "segmentBrowserPage", "`/segment/v1/page`, as analytics.js calls it.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .contents(.type("text/plain", .eventMessage)),
        answers: [
            .answer(200, "It is stored for good.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])
    static let segmentBrowserGroup = Route(
        .post, "/segment/v1/g", "segmentBrowserGroup", "`/segment/v1/group`, as analytics.js calls it.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .contents(.type("text/plain", .eventMessage)),
        answers: [
            .answer(200, "It is stored for good.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])
    static let segmentBrowserAlias = Route(
        .post, "/segment/v1/a", "segmentBrowserAlias", "`/segment/v1/alias`, as analytics.js calls it.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .contents(.type("text/plain", .eventMessage)),
        answers: [
            .answer(200, "It is stored for good.", .json(.takenEvents))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])

    let kind: EventKind
    let intake: EventIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let origin = try await intake.origin(of: request, context, for: [.ingest])
        let batch = try EventBatch(message: try await intake.body(of: request), kind, origin)
        try await intake.events.take(batch.events, in: origin.space, origin.settings)
        return try .encoding(TakeBatch.Answer(accepted: batch.accepted))
    }
}
