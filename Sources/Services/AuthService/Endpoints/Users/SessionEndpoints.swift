import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /auth/sessions`: where the user is signed in.
struct ListSessions: Endpoint {
    static let route = Route(
        .get, "/auth/sessions", "listSessions", "Where the user is signed in.", callers: .user,
        answers: [
            .answer(200, "Done.", .json(.sessions))
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await sessions.list(
            of: try context.signedInUser, current: try context.principal.sessionID, in: try context.userSpace)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

/// `DELETE /auth/sessions/{id}`, 204; 404 when the user has no such open session.
struct EndSession: Endpoint {
    static let route = Route(
        .delete, "/auth/sessions/{id}", "endSession", "Ends one session.", callers: .user,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "Done.")
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            try await sessions.end(id, of: user, in: space) > 0
        else { throw HTTPProblem(.sessionNotFound) }
        return Response(status: .noContent)
    }
}

/// `DELETE /auth/sessions?keep=current`: all of the user's sessions end, or all but the one that asks; `{"count":n}`.
struct EndSessions: Endpoint {
    static let route = Route(
        .delete, "/auth/sessions", "endSessions", "Ends all sessions, or with `keep=current` all others.",
        callers: .user,
        parameters: [
            .query("keep", .oneOf("current"))
        ],
        answers: [
            .answer(200, "Done.", .json(.count))
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, user) = (try context.userSpace, try context.signedInUser)
        let keep = request.uri.queryParameters["keep"]
        guard keep == nil || keep == "current" else {
            throw HTTPProblem(.invalidParameter, "It can be current only.", field: "keep")
        }
        let count = try await sessions.end(butFor: keep == nil ? nil : try context.session, of: user, in: space)
        return .json(#"{"count":\#(count)}"#)
    }
}
