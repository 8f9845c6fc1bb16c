import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /admin/auth/logout`, 204: the access token's session ends, with all its tokens.
struct LogStaffOut: Endpoint {
    static let route = Route(
        .post, "/admin/auth/logout", "logStaffOut", "Ends the access token's session.",
        callers: .staffBeforePasswordReset,
        answers: [
            .answer(204, "Done.")
        ])

    let sessions: StaffSessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (session, staff) = (try context.staffSession, try context.staffBeforeReset)
        _ = try await sessions.end(session, by: staff, from: request.staffAddress)
        return Response(status: .noContent)
    }
}

/// `GET /admin/sessions`: where one is signed in.
struct ListStaffSessions: Endpoint {
    static let route = Route(
        .get, "/admin/sessions", "listStaffSessions", "Where one is signed in.", callers: .signedInStaff,
        answers: [
            .answer(200, "Done.", .json(.sessions))
        ])

    let sessions: StaffSessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await sessions.list(of: try context.signedInStaff.uuid, current: try context.principal.sessionID)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

/// `DELETE /admin/sessions/{id}`, 204; 404 when one has no such open session.
struct EndStaffSession: Endpoint {
    static let route = Route(
        .delete, "/admin/sessions/{id}", "endStaffSession", "Ends one session.", callers: .signedInStaff,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "Not found."])

    let sessions: StaffSessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            try await sessions.end(id, by: staff, from: request.staffAddress) > 0
        else { throw HTTPProblem(.sessionNotFound) }
        return Response(status: .noContent)
    }
}

/// `DELETE /admin/sessions?keep=current`: all of one's sessions end, or all but the one that asks; `{"count":n}`.
struct EndStaffSessions: Endpoint {
    static let route = Route(
        .delete, "/admin/sessions", "endStaffSessions", "Ends all sessions, or with `keep=current` all others.",
        callers: .signedInStaff,
        parameters: [
            .query("keep", .oneOf("current"))
        ],
        answers: [
            .answer(200, "Done.", .json(.count))
        ])

    let sessions: StaffSessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        let keep = request.uri.queryParameters["keep"]
        guard keep == nil || keep == "current" else {
            throw HTTPProblem(.invalidParameter, "It can be current only.", field: "keep")
        }
        let count = try await sessions.end(
            butFor: keep == nil ? nil : try context.staffSession, by: staff, from: request.staffAddress)
        return .json(#"{"count":\#(count)}"#)
    }
}
