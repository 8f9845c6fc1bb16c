import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// `POST /internal/notifications/mail` with `{"app","environment","mails":[{"origin","to","subject","text"}]}`: queues
/// up to 20 mails and returns their states. For our own services only.
///
/// Mail is queued once for each origin, even if a repetition has other content. Subject and text begin with the app's
/// name.
/// Answers `{"canSend","mails":[{"origin","state","reason"?}]}` in the same order, with `state` as in a mail's record.
/// Without a mail server nothing is queued and `mails` is empty.
struct OrderMailOfService: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/notifications/mail")

    static let maximumMails = 20
    private static let maximumSizeInBytes = 512 << 10
    /// In characters; longer subjects are cut off.
    private static let maximumSubjectLength = 150
    private static let maximumTextSize = 16 << 10

    let mail: Mail

    private struct RequestedMail {
        var origin: String
        var to: EmailAddress
        var content: MailContent
    }

    private struct Answer: Encodable {
        var canSend: Bool
        var mails: [MailStore.Outcome] = []
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try await BodyFields(request, ["app", "environment", "mails"], upTo: Self.maximumSizeInBytes)
        let app = try fields.requiredString("app")
        guard let environment = AppEnvironment(rawValue: try fields.requiredString("environment")),
            (1...32).contains(app.utf8.count)
        else {
            throw ServiceError(.invalidBody, "App or environment is not valid.", field: "app")
        }
        let requested = try Self.mails(fields, environment)
        let space = try await mail.spaces.space(of: app, environment)
        guard try await mail.senders.transport(of: space) != nil else { return try .encoding(Answer(canSend: false)) }
        for item in requested {
            let order = MailOrder(to: [.address(item.to)], item.content, author: .service, origin: item.origin)
            _ = try await mail.orders.place(order, in: space)
        }
        return try .encoding(
            Answer(canSend: true, mails: try await mail.mails.outcomes(of: requested.map(\.origin), in: space)))
    }

    private static func mails(_ fields: BodyFields, _ environment: AppEnvironment) throws -> [RequestedMail] {
        guard case .array(let elements)? = fields["mails"], elements.count <= maximumMails else {
            throw ServiceError(.invalidBody, "Expected an array of at most \(maximumMails) mails.", field: "mails")
        }
        return try elements.map { element in
            let mail = try BodyFields(element, ["origin", "to", "subject", "text"])
            let (origin, text) = (try mail.requiredString("origin"), try mail.requiredString("text"))
            guard (1...200).contains(origin.utf8.count) else {
                throw ServiceError(.invalidBody, "Expected 1 to 200 bytes.", field: "origin")
            }
            guard (1...maximumTextSize).contains(text.utf8.count) else {
                throw ServiceError(.invalidBody, "Expected 1 to \(maximumTextSize) bytes.", field: "text")
            }
            // Passed as values, so that placeholders in texts of other services are not filled.
            var content = MailContent(
                words: .init(subject: "{{app}}: {{subject}}", text: "{{app}} (\(environment.rawValue))\n\n{{text}}"))
            content.variables = [
                "subject": String(try mail.requiredString("subject").prefix(maximumSubjectLength)), "text": text,
            ]
            let address = try EmailAddress(try mail.requiredString("to"), field: "to")
            return RequestedMail(origin: "service:" + origin, to: address, content: content)
        }
    }
}

extension MailStore {
    struct Outcome: Encodable, Sendable {
        var origin: String
        var state: String
        var reason: String?
    }

    /// The state of the first mail ordered with each origin, in their order. Returns the origins as
    /// `OrderMailOfService` received them.
    func outcomes(of origins: [String], in space: Space) async throws -> [Outcome] {
        try await postgres.query(
            """
            SELECT substr(m.origin, length('service:') + 1), m.state, m.reason FROM unnest(\(origins)) WITH ORDINALITY AS o (origin, place)
            JOIN notifications.mails AS m ON m.space = \(space.id) AND m.origin = o.origin AND m.number = 0 ORDER BY o.place
            """
        ).map { Outcome(origin: try $0.decode(0), state: try $0.decode(1), reason: try $0.decode(2)) }
    }
}
