import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct LogStaffOut: Endpoint {
    static let route = Route(
        .post, "/admin/auth/logout", "logStaffOut", "Ends the staff member's session.",
        callers: .staffBeforePasswordReset,
        answers: [
            .answer(204, "The session has ended with all its tokens.")
        ])

    let sessions: StaffSessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (session, staff) = (try context.staffSession, try context.staffBeforeReset)
        _ = try await sessions.end(session, by: staff, from: request.staffAddress)
        return Response(status: .noContent)
    }
}

struct ListStaffSessions: Endpoint {
    static let route = Route(
        .get, "/admin/sessions", "listStaffSessions", "Lists the signed-in staff member's open sessions.",
        callers: .signedInStaff,
        answers: [
            .answer(200, "The open sessions.", .json(.sessions))
        ])

    let sessions: StaffSessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await sessions.list(of: try context.signedInStaff.uuid, current: try context.principal.sessionID)
        return .json(#"{"count":\#(list.count),"data":[\#(list.joined(separator: ","))]}"#)
    }
}

struct EndStaffSession: Endpoint {
    static let route = Route(
        .delete, "/admin/sessions/{id}", "endStaffSession", "Ends one of the signed-in staff member's sessions.",
        callers: .signedInStaff,
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "The session has ended with all its tokens.")
        ],
        errors: [404: "The staff member has no such open session (`session-not-found`)."])

    let sessions: StaffSessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            try await sessions.end(id, by: staff, from: request.staffAddress) > 0
        else { throw ServiceError(.sessionNotFound) }
        return Response(status: .noContent)
    }
}

struct EndStaffSessions: Endpoint {
    static let route = Route(
        .delete, "/admin/sessions", "endStaffSessions", "Ends the signed-in staff member's sessions.",
        callers: .signedInStaff,
        parameters: [
            .query("keep", .oneOf("current"))
        ],
        details: "With `keep=current`, the session of the call stays open.",
        answers: [
            .answer(200, "The number of sessions that ended.", .json(.count))
        ])

    let sessions: StaffSessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        let keep = request.uri.queryParameters["keep"]
        guard keep == nil || keep == "current" else {
            throw ServiceError(.invalidParameter, "This must be current.", field: "keep")
        }
        let count = try await sessions.end(
            butFor: keep == nil ? nil : try context.staffSession, by: staff, from: request.staffAddress)
        return .json(#"{"count":\#(count)}"#)
    }
}
