import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail
import NIOCore

/// `GET /mail/unsubscribe/:token`: a page with buttons, for anyone with the link. It changes nothing, because mail
/// scanners open links too.
struct ShowUnsubscribe: Endpoint {
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
    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["address", "user", "limit", "cursor"])
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
    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["address", "user", "topic"])
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
