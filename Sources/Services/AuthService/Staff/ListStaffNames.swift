import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The names and mail addresses of up to 100 staff members, without disabled ones. With `area`, only members who may
/// read that area are included, in `app` if it is given.
struct ListStaffNames: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/staff/names")

    static let maximumStaff = 100

    let staff: StaffStore

    private struct Query: Decodable {
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
        let body = try await request.decoded(Query.self)
        guard body.staff.count <= Self.maximumStaff else { throw ServiceError(.limitExceeded, field: "staff") }
        // Malformed ids belong to no staff member.
        let members = try await staff.enabled(among: body.staff.compactMap { UUID(uuidString: $0) })
        return try .encoding(
            Answer(
                staff: members.filter { member in body.area.map { member.grant.may(.read, $0, in: body.app) } ?? true }
                    .map { .init(id: $0.grant.id, userName: $0.grant.userName, email: $0.email) }))
    }
}
