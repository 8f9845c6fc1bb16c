import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /internal/staff/names` with `{"staff":[ids],"app"?,"area"?}`, a hundred at the most:
/// `{"staff":[{"id","userName","email"?}]}` of those who are there and not disabled; with `app` and `area` of those who
/// may read it. `email` is where mail reaches them. For our own processes only.
struct NameStaff: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/staff/names")

    static let maximumStaff = 100

    let staff: StaffStore

    private struct Question: Decodable {
        var staff: [String]
        var app: String?
        var area: StaffArea?
    }

    private struct Answer: Encodable {
        struct Member: Encodable {
            var id: String
            var userName: String
            var email: String?
        }

        var staff: [Member]
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let asked = try await request.decoded(Question.self)
        guard asked.staff.count <= Self.maximumStaff else { throw HTTPProblem(.limitExceeded, field: "staff") }
        // What is no id is nobody's.
        let known = try await staff.known(among: asked.staff.compactMap { UUID(uuidString: $0) })
        return try .encoding(
            Answer(
                staff: known.filter { member in asked.area.map { member.grant.may(.read, $0, in: asked.app) } ?? true }
                    .map { .init(id: $0.grant.id, userName: $0.grant.userName, email: $0.email) }))
    }
}
