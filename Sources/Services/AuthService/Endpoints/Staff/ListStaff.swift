import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /admin/staff?after=&limit=`: everybody, by name; needs `staff` read. `next`, where there are more, is the
/// `after` of the next page.
struct ListStaff: Endpoint {
    static let route = Route(
        .get, "/admin/staff", "listStaff", "Everybody, by name.", callers: .staff(.read, .staff),
        parameters: [
            .query("after", .string, "`next` of the page before."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        details: "Needs `staff` read.",
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .staff),
                            "next": .string.described("`after` of the next page."),
                        ], required: ["count", "data"])))
        ])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.staff(may: .read, .staff)
        let limit = try context.integer("limit")
        let list = try await staff.list(after: String(request.uri.queryParameters["after"] ?? ""), limit: limit + 1)
        let page = list.prefix(limit)
        let next = list.count > limit ? page.last.map { #","next":\#(JSONValue.quote($0.name))"# } ?? "" : ""
        return .json(#"{"count":\#(page.count),"data":[\#(page.map(\.json).joined(separator: ","))]\#(next)}"#)
    }
}

/// `GET /admin/staff/{id}`; needs `staff` read.
struct ReadStaff: Endpoint {
    static let route = Route(
        .get, "/admin/staff/{id}", "readStaff", "A staff member.", callers: .staff(.read, .staff),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs `staff` read.",
        answers: [
            .answer(200, "Done.", .json(.staff))
        ],
        errors: [404: "Not found."])

    let staff: StaffStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try context.staff(may: .read, .staff)
        guard let json = try await staff.find(try context.staffID) else { throw HTTPProblem(.staffNotFound) }
        return .json(json)
    }
}
