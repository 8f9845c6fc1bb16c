import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// A member is a user's id or `role:<name>`, whose members then have this role too, to any depth.
///
/// Atomic and idempotent.
struct ChangeRole: Endpoint {
    static let route = Route(
        .put, "/roles/{role}", "changeRole",
        "Adds and removes members of a role. For the app's server, creates the role if it is missing.",
        callers: .clientOrStaff([.update], .users),
        parameters: [.role],
        details: """
            For the app's server and signed-in users who are among the role's `managers` or members of a role there. \
            A user can add a role only if they manage that one, too, and cannot change the managers.
            """,
        body: .json(
            .object(
                [
                    "add": .array(of: .string).maxItems(1_000),
                    "remove": .array(of: .string).maxItems(1_000),
                    "managers": .array(of: .string).maxItems(RoleManagement.maximumManagers).described(
                        """
                        For the app's server: users' ids and `role:<name>`, which replace the former managers. Absent \
                        means no change.
                        """),
                ])),
        answers: [
            .answer(204, "The changes are in effect.")
        ],
        errors: [403: "The caller does not manage the role (`forbidden`)."])

    let roles: RoleStore
    let rights: RightsStore

    private struct Body: Decodable {
        var add: [String]?
        var remove: [String]?
        var managers: [String]?
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (role, space) = (try context.role, try context.space)
        let caller = try await rights.callerOfRole(try context.principal, in: space)
        let body = try await request.decoded(Body.self, upTo: 1 << 20)
        guard (body.managers ?? []).count <= RoleManagement.maximumManagers else {
            throw ServiceError(
                .limitExceeded, "A role may have at most \(RoleManagement.maximumManagers) managers.",
                field: "managers")
        }
        let change = RoleStore.Change(
            add: try RoleStore.Change.checked(body.add ?? [], "add"),
            remove: try RoleStore.Change.checked(body.remove ?? [], "remove"),
            managers: try body.managers.map { try RoleStore.Change.checked($0, "managers") })
        try await roles.change(role, by: change, as: caller, of: space)
        return Response(status: .noContent)
    }
}
