import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /internal/staff/names` with `{"staff":[ids]}`, a hundred at the most: `{"staff":[{"id","userName"}]}` of those who are there and not
/// disabled. For our own processes only.
struct NameStaff: Endpoint {
    static let maximumStaff = 100

    let staff: StaffStore

    private struct Question: Decodable {
        var staff: [String]
    }

    private struct Answer: Encodable {
        struct Member: Encodable {
            var id: String
            var userName: String
        }

        var staff: [Member]
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try context.principal.kind == .service else { throw HTTPProblem(.forbidden) }
        let asked = try await request.decoded(Question.self)
        guard asked.staff.count <= Self.maximumStaff else { throw HTTPProblem(.limitExceeded, field: "staff") }
        // What is no id is nobody's.
        let known = try await staff.names(of: asked.staff.compactMap { UUID(uuidString: $0) })
        return try .encoding(Answer(staff: known.map { .init(id: $0.id.uuidString.lowercased(), userName: $0.name) }))
    }
}
