import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListStaff: Endpoint {
    static let route = Route(
        .get, "/admin/staff", "listStaff", "Lists the staff in the order of their names.",
        callers: .staff(.read, .staff),
        parameters: [
            .query("after", .string, "The `next` of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(
                200, "A page of staff members.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .staff),
                            "next": .string.described("The `after` of the next page, if there is one."),
                        ], required: ["count", "data"])))
        ])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let limit = try context.integer("limit")
        let list = try await staff.list(after: String(request.uri.queryParameters["after"] ?? ""), limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.name : nil)
    }
}

struct ReadStaff: Endpoint {
    static let route = Route(
        .get, "/admin/staff/{id}", "readStaff", "Returns a staff member.", callers: .staff(.read, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "The staff member.", .json(.staff))
        ],
        errors: [404: "There is no such staff member (`staff-not-found`)."])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let json = try await staff.find(try context.staffID) else { throw ServiceError(.staffNotFound) }
        return .json(json)
    }
}
