import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Runs the statements of the real request in a transaction that is rolled back. Rows that they lock stay locked for
/// that time, a few seconds at most.
struct TestRules: Endpoint {
    static let route = Route(
        .post, "/collections/{collection}/rules/test", "testRules",
        "Says whether the rules allow a request, which entry decides, and what refuses it.",
        callers: .manager(.read, .storage),
        parameters: [
            .collection
        ],
        details: """
            `user` is a user's id, or null for a caller who is not signed in; `roles` replaces the roles that the user \
            has. The request is about the stored `object` with this id, or about a `document` that is not stored. \
            `create` has a `document`; `update` also has a `change` (as with `PATCH`) or a `replacement` (as with \
            `PUT`). The statements of the real request run and are rolled back. Before-hooks are not called.

            If something other than rules refuses the request, such as the schema, the answer is that error.
            """,
        body: .json(.ruleTest),
        answers: [
            .answer(200, "How the rules decide about the request.", .json(.ruleVerdict))
        ],
        errors: [
            400: "A member is missing or wrong (`invalid-body`).",
            404: "The app has no such collection (`collection-not-found`).",
        ])

    let rules: RulesStore
    let objects: ObjectStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.space)
        let test = try RuleTest(try await request.json(upTo: Document.maximumSizeInBytes))
        return try .encoding(try await rules.verdict(on: test, collection, of: space, objects))
    }
}
