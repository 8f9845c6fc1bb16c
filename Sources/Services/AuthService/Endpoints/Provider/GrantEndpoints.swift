import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /auth/me/grants`: which other applications the user has let in, and what to.
struct ListGrants: Endpoint {
    static let route = Route(
        .get, "/auth/me/grants", "listGrants", "Which other applications the user has let in, and what to.",
        callers: .user,
        answers: [
            .answer(200, "Done.", .json(.grants))
        ])

    let grants: GrantStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await grants.list(of: try context.signedInUser, in: try context.userSpace)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

/// `DELETE /auth/me/grants/{client}`, 204: the application has to ask again, and its tokens are worth nothing.
struct RemoveGrant: Endpoint {
    static let route = Route(
        .delete, "/auth/me/grants/{client}", "removeGrant",
        "Takes back what the user allowed an application; its tokens are worth nothing.", callers: .user,
        parameters: [
            .path("client", .uuid)
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "Not found."])

    let grants: GrantStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        guard let client = context.parameters.get("client").flatMap({ UUID(uuidString: $0) }),
            try await grants.remove(of: user, to: client, in: space)
        else { throw HTTPProblem(.notFound, "There is no such grant.") }
        return Response(status: .noContent)
    }
}
