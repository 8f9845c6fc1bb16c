import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Stores the feedback as a ticket. Idempotent for feedback with an `id`.
struct PostFeedback: Endpoint {
    static let route = Route(
        .post, "/feedback", "sendFeedback", "Sends a user's feedback, which becomes a ticket.",
        callers: .client,
        body: .json(
            .object(
                [
                    "message": .string.maxLength(8_000),
                    "name": .string.maxLength(200),
                    "email": .string.maxLength(254),
                    "appVersion": .string.maxLength(64),
                    "eventId": .string.described("The id of a crash report: 32 hexadecimal digits."),
                    "id": .string.maxLength(90).described(
                        "Identifies the feedback; if it is sent again, it is stored only once."),
                    "screenshot": .string.format("byte").described("An image of at most 4 MiB."),
                ], required: ["message"])),
        answers: [
            .answer(204, "The feedback is stored, or was before.")
        ],
        errors: [413: "The body with the screenshot is too large (`payload-too-large`)."])

    private static let fields: Set<String> = ["message", "name", "email", "appVersion", "eventId", "id", "screenshot"]
    private static let maximumSizeInBytes = Feedback.maximumFileInBytes * 4 / 3 + (64 << 10)

    let feedback: FeedbackIntake
    let spaces: Spaces

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        let fields = try await BodyFields(request, Self.fields, upTo: Self.maximumSizeInBytes)
        var submitted = Feedback(
            message: try TicketInput.text(fields, "message", from: 1, upTo: Feedback.maximumMessage) ?? "")
        guard !submitted.message.isEmpty else {
            throw ServiceError(.invalidBody, "This field is required.", field: "message")
        }
        submitted.name = try TicketInput.line(fields, "name", from: 0, upTo: 200)
        submitted.email = try TicketInput.line(fields, "email", from: 0, upTo: 254)
        submitted.appVersion = try TicketInput.line(fields, "appVersion", upTo: 64)
        submitted.eventID = try fields.string("eventId")
        submitted.key = try TicketInput.line(fields, "id", upTo: 90).map { "client:" + $0 }
        submitted.userID = principal.userID
        if principal.kind == .client, principal.userID == nil {
            submitted.source = HTTPField.Name(HeaderName.address).flatMap { request.headers[$0] }
        }
        if let text = try fields.string("screenshot") {
            guard let bytes = Data(base64Encoded: text) else {
                throw ServiceError(.invalidBody, "Expected bytes in base64.", field: "screenshot")
            }
            submitted.files = [Feedback.File(name: "screenshot", contentType: nil, bytes: ByteBuffer(bytes: bytes))]
        }
        do {
            try await feedback.store(submitted, in: try await spaces.space(of: principal))
        } catch FeedbackRefusal.tooMany(let seconds) {
            throw ServiceError(
                .tooManyRequests, "Too much feedback has arrived. Try again later.",
                retryAfter: seconds)
        } catch FeedbackRefusal.invalid(let field, let reason) {
            throw ServiceError(.invalidBody, reason, field: field)
        }
        return Response(status: .noContent)
    }
}
