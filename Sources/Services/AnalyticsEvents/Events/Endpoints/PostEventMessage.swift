import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Accepts one message from Segment's clients. Idempotent for messages with an id.
///
/// A body that is not a valid message is refused as a whole, unlike a message in a batch.
struct PostEventMessage: Endpoint {
    static let route = Route(
        .post, "/segment/v1/identify", "segmentIdentify",
        "Accepts one message from Segment's clients; the last part of the path is its type.",
        callers: .ingestKeys,
        checksOwnQuery: true,
        body: .contents(.json(.eventMessage), .type("text/plain", .eventMessage)),
        answers: [
            .answer(
                200,
                """
                The message was accepted. It is stored durably unless the person opted out or the app does not \
                collect events.
                """,
                .json(.takenEvents))
        ],
        errors: [
            415: "The body has a `Content-Encoding` other than gzip, deflate, br or zstd (`unsupported-media-type`)."
        ])
    static let segmentTrack = route.at("/segment/v1/track", "segmentTrack")
    static let segmentScreen = route.at("/segment/v1/screen", "segmentScreen")
    static let segmentPage = route.at("/segment/v1/page", "segmentPage")
    static let segmentGroup = route.at("/segment/v1/group", "segmentGroup")
    static let segmentAlias = route.at("/segment/v1/alias", "segmentAlias")
    static let segmentBrowserIdentify = route.at(
        "/segment/v1/i", "segmentBrowserIdentify",
        "Accepts an `identify` message from analytics.js.")
    static let segmentBrowserTrack = segmentBrowserIdentify.at(
        "/segment/v1/t", "segmentBrowserTrack",
        "Accepts a `track` message from analytics.js.")
    static let segmentBrowserScreen = segmentBrowserIdentify.at(
        "/segment/v1/s", "segmentBrowserScreen",
        "Accepts a `screen` message from analytics.js.")
    static let segmentBrowserPage = segmentBrowserIdentify.at(
        "/segment/v1/p", "segmentBrowserPage",
        "Accepts a `page` message from analytics.js.")
    static let segmentBrowserGroup = segmentBrowserIdentify.at(
        "/segment/v1/g", "segmentBrowserGroup",
        "Accepts a `group` message from analytics.js.")
    static let segmentBrowserAlias = segmentBrowserIdentify.at(
        "/segment/v1/a", "segmentBrowserAlias",
        "Accepts an `alias` message from analytics.js.")

    let kind: EventKind
    let intake: EventIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let origin = try await intake.origin(of: request, context)
        let batch = try EventBatch(message: try await intake.body(of: request), kind, origin)
        try await intake.events.take(batch.events, in: origin.space, origin.settings)
        return try .encoding(PostEventBatch.Answer(accepted: batch.accepted))
    }
}
