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
    static let listStaffSessions = Route(
        .get, "/admin/sessions", "listStaffSessions", "Lists the signed-in staff member's open sessions.",
        callers: .signedInStaff,
        answers: [
            .answer(200, "The open sessions.", .json(.sessions))
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return .page(
            try await sessions.list(
                of: try context.person(request), current: try context.principal.sessionID))
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
    static let endStaffSession = Route(
        .delete, "/admin/sessions/{id}", "endStaffSession", "Ends one of the signed-in staff member's sessions.",
        callers: .signedInStaff,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "The session has ended with all its tokens.")
        ],
        errors: [404: "The staff member has no such open session (`session-not-found`)."])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let person = try context.person(request)
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            try await sessions.end(id, of: person) > 0
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
    static let endStaffSessions = Route(
        .delete, "/admin/sessions", "endStaffSessions", "Ends the signed-in staff member's sessions.",
        callers: .signedInStaff,
        parameters: [
            .query("keep", .oneOf("current"))
        ],
        details: "With `keep=current`, the session of the call stays open.",
        answers: [
            .answer(200, "The number of sessions that ended.", .json(.count))
        ])

    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let person = try context.person(request)
        let keepsCurrent = request.uri.queryParameters["keep"] != nil
        let count = try await sessions.end(except: keepsCurrent ? try context.session : nil, of: person)
        return .json(#"{"count":\#(count)}"#)
    }
}
