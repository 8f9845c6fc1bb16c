import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListGrants: Endpoint {
    static let route = Route(
        .get, "/auth/me/grants", "listGrants",
        "Lists the applications that the signed-in user has granted access, with their scopes.",
        callers: .user,
        answers: [
            .answer(200, "The grants.", .json(.grants))
        ])

    let grants: GrantStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return .page(try await grants.list(of: try context.signedInUser, in: try context.userSpace))
    }
}

struct RemoveGrant: Endpoint {
    static let route = Route(
        .delete, "/auth/me/grants/{client}", "removeGrant",
        "Withdraws the signed-in user's grant to an application.", callers: .user,
        parameters: [
            .path("client", .uuid)
        ],
        details: "The application's tokens are invalid at once, and it must ask for consent again.",
        answers: [
            .answer(204, "The grant is withdrawn.")
        ],
        errors: [404: "The user has no such grant (`not-found`)."])

    let grants: GrantStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        guard let client = context.parameters.get("client").flatMap({ UUID(uuidString: $0) }),
            try await grants.remove(of: user, to: client, in: space)
        else { throw ServiceError(.notFound, "The user has granted nothing to this client.") }
        return Response(status: .noContent)
    }
}
