import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// Idempotent with an `Idempotency-Key`: returns the same mails again, even if the template, the mail server or the
/// limits have changed since.
struct OrderMail: Endpoint {
    static let route = Route(
        .post, "/notifications/mail", "orderMail",
        "Sends a mail to up to 50 recipients, each of whom gets a separate mail.",
        callers: .manager(.create, .notifications),
        parameters: [
            .header(
                "Idempotency-Key", .string.maxLength(200),
                "A repeated order with the same key returns the mails of the first one and sends nothing.")
        ],
        body: .json(.mailOrder),
        answers: [
            .answer(
                202, "The ids of the mails in the order of the recipients, addresses before users.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .uuid),
                        ])))
        ],
        errors: [
            404: "The app has no such template (`template-not-found`).",
            413: "The body is too large (`payload-too-large`).",
            422: "The `Idempotency-Key` was used with a different order (`idempotency-key-reused`).",
            501: "Neither the app nor the server has a mail server (`not-implemented`).",
        ])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.notifications(may: .create, mail.spaces)
        let origin = try request.idempotencyKey.map { "key:" + $0 }
        let fields = try await BodyFields(request, MailOrder.fields, upTo: MailOrder.maximumBodySizeInBytes)
        let digest = origin.map { _ in Data(fields.digest(of: MailOrder.fields)) }
        if let origin, let known = try await mail.mails.known(origin, digest: digest, in: space) {
            return try Self.answer(known)
        }
        let order = try MailOrder(fields, author: author, origin: origin, digest: digest)
        guard try await mail.senders.transport(of: space) != nil else { throw ServiceError.noMailServer }
        return try Self.answer(try await mail.orders.place(order, in: space))
    }

    private static func answer(_ ids: [UUID]) throws -> Response {
        var response = try Response.list(ids.map { $0.uuidString.lowercased() })
        response.status = .accepted
        return response
    }
}

struct PreviewMail: Endpoint {
    static let route = Route(
        .post, "/notifications/mail/preview", "previewMail", "Previews a mail. Sends nothing.",
        callers: .manager(.read, .notifications),
        body: .json(.mailContent),
        answers: [
            .answer(
                200, "The mail with its variables filled in.",
                .json(
                    .object(
                        [
                            "language": .string,
                            "subject": .string,
                            "text": .string,
                            "html": .string,
                        ])))
        ],
        errors: [
            404: "The app has no such template (`template-not-found`).",
            413: "The body is too large (`payload-too-large`).",
        ])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        let fields = try await BodyFields(
            request, MailContent.fields.union(["topic"]), upTo: MailOrder.maximumBodySizeInBytes)
        let content = try MailContent(fields)
        let topic = try fields.string("topic").map { try MailTopic.checked($0, field: "topic") }
        try await mail.orders.check(content, hasTopic: topic != nil, in: space)
        var values = [
            "app": try await mail.contacts.contacts([], in: space).app ?? "", "email": "somebody@example.org",
        ]
        if topic != nil { values["unsubscribe"] = "https://example.org/unsubscribe" }
        struct Answer: Encodable {
            var language: String?
            var subject: String
            var text: String
            var html: String?
        }
        do {
            let written = try await mail.writer.write(content, for: nil, values, in: space)
            return try .encoding(
                Answer(
                    language: written.language, subject: written.words.subject, text: written.words.text,
                    html: written.words.html))
        } catch is MailWriter.Refusal {
            // The template was changed in the meantime.
            throw ServiceError(.conflict)
        }
    }
}

/// Does not write to suppressed addresses. The mail server's answer may mark the app's credential as broken or as good.
struct TestMail: Endpoint {
    static let route = Route(
        .post, "/notifications/mail/test", "testMail",
        "Sends a short test mail immediately, with the app's mail server and sender.",
        callers: .manager(.create, .notifications),
        body: .json(
            .object(
                [
                    "to": .string.format("email")
                ], required: ["to"])),
        answers: [
            .answer(
                200, "Whether the mail was sent, and the reason if not.",
                .json(
                    .object(
                        [
                            "isSent": .boolean,
                            "reason": .string,
                        ])))
        ],
        errors: [501: "Neither the app nor the server has a mail server (`not-implemented`)."])

    private struct Answer: Encodable {
        var isSent: Bool
        var reason: String?
    }

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .create, mail.spaces)
        let address = try EmailAddress(try await BodyFields(request, ["to"]).requiredString("to"), field: "to")
        let app = try await mail.contacts.contacts([], in: space).app ?? space.appID
        guard var transport = try await mail.senders.transport(of: space) else { throw ServiceError.noMailServer }
        try mail.tests.take(in: space)
        if let refusal = try await mail.permission.refusal(of: address.text, user: nil, topic: nil, in: space.id) {
            return try .encoding(Answer(isSent: false, reason: refusal.reason))
        }
        // The client waits for the answer, so use a short timeout.
        transport.server.timeoutInSeconds = 20
        let words = "This is a test mail from \(app). You do not need to do anything."
        var message = MailMessage(
            from: transport.from(app), to: try MailAddress(address: address.text), subject: "\(app): test", text: words)
        message.bounces = transport.bounces
        message.replyTo = transport.replyTo
        do {
            try await mail.testClient.send(message, by: transport.server)
            try? await mail.senders.record(nil, transport, in: space)
            return try .encoding(Answer(isSent: true))
        } catch let error as SMTPError {
            try await mail.senders.record(error, transport, in: space)
            return try .encoding(Answer(isSent: false, reason: error.reason))
        }
    }
}

extension ServiceError {
    static var noMailServer: ServiceError {
        ServiceError(
            .notImplemented,
            "This server sends no mail: the operator must set MARTLET_MAIL_HOST, or the app must store an smtp credential with a host."
        )
    }
}
