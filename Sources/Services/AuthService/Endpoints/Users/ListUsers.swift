import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

/// `GET /auth/users?after=&limit=&userName=&email=`: users in the order in which they came, for the app's own server.
///
/// `next`, where there are more, is the `after` of the next page.
struct ListUsers: Endpoint {
    static let route = Route(
        .get, "/auth/users", "listUsers", "Users in the order in which they came.", callers: .server,
        parameters: [
            .query("after", .uuid, "`next` of the page before."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 20)),
            .query("userName"),
            .query("email"),
        ],
        details: "Needs the master key.",
        answers: [
            .answer(200, "Done.", .json(.users))
        ])

    let users: UserStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let parameters = request.uri.queryParameters
        let limit = try context.integer("limit")
        let list = try await users.list(
            after: try request.id("after"), limit: limit + 1,
            identity: try identity(parameters["userName"], parameters["email"]), in: space)
        let page = list.prefix(limit)
        let next = list.count > limit ? page.last.map { #","next":"\#($0.id.uuidString.lowercased())""# } ?? "" : ""
        return .json(#"{"count":\#(page.count),"data":[\#(page.map(\.json).joined(separator: ","))]\#(next)}"#)
    }

    private func identity(_ name: Substring?, _ address: Substring?) throws -> UserIdentity? {
        if let name { return .userName(try UserName(String(name))) }
        return try address.map { .email(try EmailAddress(String($0))) }
    }
}
