import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

struct ListUsers: Endpoint {
    static let route = Route(
        .get, "/auth/users", "listUsers", "Lists the app's users in the order of their creation.",
        callers: .manager(.read, .users),
        parameters: [
            .query("after", .uuid, "The `next` of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 20)),
            .query("userName"),
            .query("email"),
        ],
        answers: [
            .answer(200, "A page of users.", .json(.users))
        ])

    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let parameters = request.uri.queryParameters
        let limit = try context.integer("limit")
        let list = try await users.list(
            after: try request.id("after"), limit: limit + 1,
            identity: try identity(parameters["userName"], parameters["email"]), in: space)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.id.uuidString.lowercased() : nil)
    }

    private func identity(_ name: Substring?, _ address: Substring?) throws -> UserIdentity? {
        if let name { return .userName(try UserName(String(name))) }
        return try address.map { .email(try EmailAddress(String($0))) }
    }
}
