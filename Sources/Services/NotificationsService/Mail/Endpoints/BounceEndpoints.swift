import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

/// Idempotent. Relay webhooks and the reader of the bounce address report bounces here.
struct RecordBounce: Endpoint {
    static let route = Route(
        .post, "/notifications/mail/bounces", "noteBounce", "Records a bounce of a mail, or a complaint about it.",
        callers: .manager(.update, .notifications),
        body: .json(.mailBounce),
        answers: [
            .answer(
                200, "Whether this report suppresses the address: true for `hard` and `complaint`, false for `soft`.",
                .json(
                    .object(
                        [
                            "isSuppressed": .boolean
                        ])))
        ],
        errors: [
            404: "The app has no such mail, or the mail has not been written yet (`message-not-found`).",
            413: "The body is too large (`payload-too-large`).",
        ])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .update, mail.spaces)
        let fields = try await BodyFields(request, ["mail", "address", "kind", "reason"])
        guard let kind = BounceKind(rawValue: try fields.requiredString("kind")) else {
            throw ServiceError(.invalidBody, "Expected hard, soft or complaint.", field: "kind")
        }
        let reason = try fields.string("reason").map {
            String(String.UnicodeScalarView($0.unicodeScalars.prefix(SuppressedStore.maximumReasonLength)))
        }
        let id = try fields.string("mail").map { try Self.mail($0) }
        let address = try fields.string("address").map { try EmailAddress($0, field: "address").text }
        var bounced: (address: String, user: String?)?
        switch (id, address) {
        case (let id?, nil):
            bounced = try await mail.mails.record(kind, reason: reason, of: id, in: space)
            guard bounced != nil else { throw ServiceError(.messageNotFound) }
        case (nil, let address?): bounced = (address, nil)
        default: throw ServiceError(.invalidBody, "Name either a mail or an address, not both.", field: "mail")
        }
        if let bounced, kind.isFinal {
            let isKept = try await mail.suppressed.add(
                bounced.address, kind, reason: reason, user: bounced.user, mail: id, in: space.id)
            guard isKept else {
                throw ServiceError(
                    .tooManyRequests,
                    "At most \(SuppressedStore.maximumPerHour) new addresses may be suppressed per hour.",
                    retryAfter: 600)
            }
        }
        struct Answer: Encodable {
            var isSuppressed: Bool
        }
        return try .encoding(Answer(isSuppressed: kind.isFinal))
    }

    /// Parses `0193a1…` or `<0193a1…@shop.example>`.
    private static func mail(_ text: String) throws -> UUID {
        let id = text.drop { $0 == "<" }.prefix { $0 != "@" }
        guard let id = UUID(uuidString: String(id)) else {
            throw ServiceError(.invalidBody, "Expected the id or the Message-ID of a mail.", field: "mail")
        }
        return id
    }
}

struct ListSuppressed: Endpoint {
    static let route = Route(
        .get, "/notifications/mail/suppressed", "listSuppressed",
        "Lists the addresses that the app no longer sends mail to, with the reasons.",
        callers: .manager(.read, .notifications),
        parameters: [
            .query("address"),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query("cursor", .string, "The `next` value of the previous page."),
        ],
        answers: [
            .answer(
                200, "A page of addresses.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "address": .string,
                                        "kind": .oneOf("hard", "complaint"),
                                        "reason": .string.nullable,
                                        "user": .string.nullable,
                                        "mail": .uuid.nullable,
                                        "since": .time,
                                    ])),
                            "next": .string,
                        ])))
        ])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        let limit = try context.integer("limit")
        let parameters = request.uri.queryParameters
        let list = try await mail.suppressed.list(
            address: parameters["address"].map { $0.lowercased() }, after: parameters["cursor"].map(String.init),
            limit: limit + 1, in: space)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.address : nil)
    }
}

struct DeleteSuppressed: Endpoint {
    static let route = Route(
        .delete, "/notifications/mail/suppressed", "deleteSuppressed",
        "Removes an address from the suppression list, so that it gets mail again.",
        callers: .manager(.delete, .notifications),
        parameters: [
            .query("address", isRequired: true)
        ],
        answers: [
            .answer(204, "The address is no longer on the list.")
        ],
        errors: [404: "The address is not on the suppression list (`not-found`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, mail.spaces)
        guard let address = request.uri.queryParameters["address"].map({ $0.lowercased() }) else {
            throw ServiceError(.invalidParameter, "An address is required.", field: "address")
        }
        guard try await mail.suppressed.remove(address, in: space) else { throw ServiceError(.notFound) }
        return Response(status: .noContent)
    }
}
