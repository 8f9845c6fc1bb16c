import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

/// `GET /notifications/mail?state=&to=&user=&limit=&cursor=`: the app's mails and what became of them, the newest first.
struct ListMails: Endpoint {
    private static let states: Set<String> = ["queued", "sent", "failed", "skipped"]

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["state", "to", "user", "limit", "cursor"])
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        let parameters = request.uri.queryParameters
        var filter = MailStore.Filter()
        filter.state = parameters["state"].map(String.init)
        if let state = filter.state, !Self.states.contains(state) {
            throw HTTPProblem(.invalidParameter, "It is one of \(Self.states.sorted().joined(separator: ", ")).", field: "state")
        }
        filter.address = parameters["to"].map { $0.lowercased() }
        filter.user = parameters["user"].map { $0.lowercased() }
        filter.before = try request.id("cursor")
        let limit = try request.number("limit", default: 100, in: 1...1_000)
        let list = try await mail.mails.list(filter, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { $0.id.uuidString.lowercased() } : nil)
    }
}

/// `GET /notifications/mail/:id`: what became of one. Not what it said: that is gone when it has left.
struct ReadMail: Endpoint {
    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }) else { throw HTTPProblem(.invalidID, field: "id") }
        guard let json = try await mail.mails.read(id, in: space) else { throw HTTPProblem(.messageNotFound) }
        return .json(json)
    }
}
