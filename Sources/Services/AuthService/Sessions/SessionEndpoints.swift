import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListSessions: Endpoint {
    static let route = Route(
        .get, "/auth/sessions", "listSessions", "Lists the signed-in user's open sessions.", callers: .user,
        answers: [
            .answer(200, "The open sessions.", .json(.sessions))
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await sessions.list(
            of: try context.signedInUser, current: try context.principal.sessionID, in: try context.userSpace)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

struct EndSession: Endpoint {
    static let route = Route(
        .delete, "/auth/sessions/{id}", "endSession", "Ends one of the signed-in user's sessions.", callers: .user,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "The session has ended with all its tokens.")
        ],
        errors: [404: "The user has no such open session (`session-not-found`)."])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            try await sessions.end(id, of: user, in: space) > 0
        else { throw ServiceError(.sessionNotFound) }
        return Response(status: .noContent)
    }
}

struct EndSessions: Endpoint {
    static let route = Route(
        .delete, "/auth/sessions", "endSessions", "Ends the signed-in user's sessions.",
        callers: .user,
        parameters: [
            .query("keep", .oneOf("current"))
        ],
        details: "With `keep=current`, the session of the call stays open.",
        answers: [
            .answer(200, "The number of sessions that ended.", .json(.count))
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let keep = request.uri.queryParameters["keep"]
        guard keep == nil || keep == "current" else {
            throw ServiceError(.invalidParameter, "This must be current.", field: "keep")
        }
        let count = try await sessions.end(butFor: keep == nil ? nil : try context.session, of: user, in: space)
        return .json(#"{"count":\#(count)}"#)
    }
}
