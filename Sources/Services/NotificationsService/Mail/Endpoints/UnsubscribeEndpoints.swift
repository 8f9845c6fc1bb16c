import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import NIOCore

/// Changes nothing, because mail scanners open links too.
struct ShowUnsubscribe: Endpoint {
    static let route = Route(
        .get, "/mail/unsubscribe/{token}", "showUnsubscribe",
        "Shows a page with buttons to unsubscribe. Changes nothing.", callers: .anyone,
        parameters: [
            .path("token", .string, "The token in the link from a mail.")
        ],
        checksOwnQuery: true,
        answers: [
            .answer(200, "The page with the buttons.", .type("text/html", .string)),
            .answer(
                404, "A page that says that the link is incomplete or from another server.", .type("text/html", .string)
            ),
        ],
        errors: [413: "The body is too large (`payload-too-large`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let token = context.parameters.get("token").flatMap(mail.unsubscribeLinks.token) else {
            return UnsubscribePages.unknown
        }
        return UnsubscribePages.question(token)
    }
}

/// Unsubscribes from all topics with `scope=all`, otherwise from the mail's topic. Idempotent. Mail programs send
/// `List-Unsubscribe=One-Click`.
struct Unsubscribe: Endpoint {
    static let route = Route(
        .post, "/mail/unsubscribe/{token}", "unsubscribe",
        "Unsubscribes the reader of a mail, from the page or from a mail program (RFC 8058).",
        callers: .anyone,
        parameters: [
            .path("token", .string, "The token in the link from a mail.")
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
            .answer(200, "A page that confirms it.", .type("text/html", .string)),
            .answer(
                404, "A page that says that the link is incomplete or from another server.", .type("text/html", .string)
            ),
        ],
        errors: [413: "The body is too large (`payload-too-large`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let token = context.parameters.get("token").flatMap(mail.unsubscribeLinks.token) else {
            return UnsubscribePages.unknown
        }
        // Either kind of form body; other fields are ignored.
        let all = String(buffer: try await request.wholeBody(upTo: 1_024)) == "scope=all"
        try await mail.unsubscribed.add(
            token.address, all ? MailTopic.all : token.topic, user: token.user, in: token.space)
        return UnsubscribePages.done(token, all: all)
    }
}

struct ListUnsubscribed: Endpoint {
    static let route = Route(
        .get, "/notifications/mail/unsubscribed", "listUnsubscribed",
        "Lists the addresses and users that unsubscribed, and the topics.",
        callers: .manager(.read, .notifications),
        parameters: [
            .query("address"),
            .query("user", .string, "The id of a user."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query("cursor", .string, "The `next` value of the previous page."),
        ],
        answers: [
            .answer(
                200, "A page of entries.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "address": .string,
                                        "topic": .string.described("The topic, or `*` for all topics."),
                                        "user": .string.nullable.described("The user to whom the mail went."),
                                        "since": .time,
                                    ])),
                            "next": .string,
                        ])))
        ])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        let limit = try context.integer("limit")
        let position = try request.uri.queryParameters["cursor"].map { cursor in
            // None of the parts contains a space.
            let parts = cursor.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3 else {
                throw ServiceError(.invalidParameter, "This cursor did not come from an earlier page.", field: "cursor")
            }
            return UnsubscribedStore.Position(address: parts[0], topic: parts[1], user: parts[2])
        }
        let list = try await mail.unsubscribed.list(
            request.unsubscribedFilter, after: position, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        let last = list.count > limit ? page.last?.position : nil
        return .page(page.map(\.json), next: last.map { "\($0.address) \($0.topic) \($0.user)" })
    }
}

struct DeleteUnsubscribed: Endpoint {
    static let route = Route(
        .delete, "/notifications/mail/unsubscribed", "deleteUnsubscribed",
        "Subscribes an address or a user again, at the reader's request.", callers: .manager(.delete, .notifications),
        parameters: [
            .query("address", .string, "The address. Either this or `user` is required."),
            .query("user", .string, "The id of a user."),
            .query("topic", .string, "The topic. Without it, all topics."),
        ],
        answers: [
            .answer(204, "The address or user is subscribed again.")
        ],
        errors: [404: "Nothing matches: the address or user is not unsubscribed (`not-found`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, mail.spaces)
        let filter = request.unsubscribedFilter
        guard filter.address != nil || filter.user != nil else {
            throw ServiceError(.invalidParameter, "An address or a user is required.", field: "address")
        }
        guard try await mail.unsubscribed.remove(filter, in: space) else { throw ServiceError(.notFound) }
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
