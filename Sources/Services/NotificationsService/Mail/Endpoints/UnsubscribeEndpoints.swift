import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail
import NIOCore

/// `GET /mail/unsubscribe/:token`: a page with buttons, for anyone with the link. It changes nothing, because mail
/// scanners open links too.
struct ShowUnsubscribe: Endpoint {
    static let route = Route(
        .get, "/mail/unsubscribe/{token}", "showUnsubscribe",
        "A page with a button, for whoever has the link. Changes nothing.", callers: .anyone,
        parameters: [
            .path("token", .string, "Of the link in a mail.")
        ],
        checksOwnQuery: true,
        answers: [
            .answer(200, "A page.", .type("text/html", .string)),
            .answer(404, "A page: the link is none of this server's.", .type("text/html", .string)),
        ],
        errors: [413: "The body is too large (`payload-too-large`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let token = context.parameters.get("token").flatMap(mail.unsubscribing.token) else {
            return UnsubscribePages.unknown
        }
        return UnsubscribePages.question(token)
    }
}

/// `POST /mail/unsubscribe/:token`, sent by the page's buttons or by a mail program (`List-Unsubscribe=One-Click`, RFC
/// 8058): unsubscribes from all topics with `scope=all`, otherwise from the mail's topic. 200 with a page.
struct Unsubscribe: Endpoint {
    static let route = Route(
        .post, "/mail/unsubscribe/{token}", "unsubscribe", "The page's button, or a mail program (RFC 8058).",
        callers: .anyone,
        parameters: [
            .path("token", .string, "Of the link in a mail.")
        ],
        checksOwnQuery: true,
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "List-Unsubscribe": .string,
                        "scope": .oneOf("topic", "all"),
                    ])), isRequired: false),
        answers: [
            .answer(200, "A page.", .type("text/html", .string)),
            .answer(404, "A page: the link is none of this server's.", .type("text/html", .string)),
        ],
        errors: [413: "The body is too large (`payload-too-large`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let token = context.parameters.get("token").flatMap(mail.unsubscribing.token) else {
            return UnsubscribePages.unknown
        }
        // Either kind of form body; other fields are ignored.
        let all = String(buffer: try await request.wholeBody(upTo: 1_024)) == "scope=all"
        try await mail.unsubscribed.add(
            token.address, all ? MailTopic.all : token.topic, user: token.user, in: token.space)
        return UnsubscribePages.done(token, all: all)
    }
}

/// `GET /notifications/mail/unsubscribed?address=&user=&limit=&cursor=`: lists unsubscribed addresses and users with
/// their topics (`*` for all).
struct ListUnsubscribed: Endpoint {
    static let route = Route(
        .get, "/notifications/mail/unsubscribed", "listUnsubscribed", "Who wants no more mail, and about what.",
        callers: .manager(.read, .notifications),
        parameters: [
            .query("address"),
            .query("user", .string, "An id."),
            .query("limit", .integer),
            .query("cursor", .string, "`next` of the page before."),
        ],
        answers: [
            .answer(
                200, "A page.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "address": .string,
                                        "topic": .string.described("`*`: any."),
                                        "user": .string.nullable.described("To whom the mail went that was answered."),
                                        "since": .time,
                                    ])),
                            "next": .string,
                        ])))
        ])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        let limit = try request.number("limit", default: 100, in: 1...1_000)
        let place = try request.uri.queryParameters["cursor"].map { cursor in
            // None of the parts contains a space.
            let parts = cursor.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3 else {
                throw HTTPProblem(.invalidParameter, "This cursor did not come from an earlier page.", field: "cursor")
            }
            return UnsubscribedStore.Place(address: parts[0], topic: parts[1], user: parts[2])
        }
        let list = try await mail.unsubscribed.list(
            request.unsubscribedFilter, behind: place, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        return .page(
            page.map(\.json),
            next: list.count > limit ? page.last.map { "\($0.place.address) \($0.place.topic) \($0.place.user)" } : nil)
    }
}

/// `DELETE /notifications/mail/unsubscribed?address=&user=&topic=`: subscribes again, at the reader's request; 204.
/// Without a topic, to all topics.
struct DeleteUnsubscribed: Endpoint {
    static let route = Route(
        .delete, "/notifications/mail/unsubscribed", "deleteUnsubscribed",
        "Mail is sent again, as somebody has asked for.", callers: .manager(.delete, .notifications),
        parameters: [
            .query("address", .string, "This or `user` is required."),
            .query("user", .string, "An id."),
            .query("topic", .string, "All, where it is not said."),
        ],
        answers: [
            .answer(204, "It is gone.")
        ],
        errors: [404: "There is nothing like it (`not-found`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, mail.spaces)
        let filter = request.unsubscribedFilter
        guard filter.address != nil || filter.user != nil else {
            throw HTTPProblem(.invalidParameter, "An address or a user is required.", field: "address")
        }
        guard try await mail.unsubscribed.remove(filter, in: space) else { throw HTTPProblem(.notFound) }
        return Response(status: .noContent)
    }
}

extension Request {
    fileprivate var unsubscribedFilter: UnsubscribedStore.Filter {
        let parameters = uri.queryParameters
        return UnsubscribedStore.Filter(
            address: parameters["address"].map { $0.lowercased() }, user: parameters["user"].map { $0.lowercased() },
            topic: parameters["topic"].map(String.init))
    }
}
