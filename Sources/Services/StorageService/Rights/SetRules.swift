import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Refuses rules that could never allow anything: a role or collection that does not exist, a field's name in place of
/// a grantee, or a condition that does not compile.
///
/// Takes effect immediately in this copy of the service and within a second in the others.
struct SetRules: Endpoint {
    static let route = Route(
        .put, "/collections/{collection}/rules", "setRules",
        "Replaces the access rules of a collection, and creates the collection if it is missing.",
        callers: .manager(.update, .storage),
        parameters: [
            .collection
        ],
        details: """
            An entry `{"who":[…],"where":{…}}` can take the place of a grantee. It admits the callers in `who` to the \
            objects that match the filter. The answer says in `through` to which collections the Pointers in dotted \
            names of the filter lead. An error names the place, such as `rules.find.1.where.state`.
            """,
        body: .json(.rules),
        answers: [
            .answer(200, "The rules now in effect, with `warnings`.", .json(.rules))
        ])

    private static let maximumSizeInBytes = 64 << 10

    let rules: RulesStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.space)
        let body = try CollectionRules(try await request.json(upTo: Self.maximumSizeInBytes))
        try body.check()
        return try await .rules(
            rules.set(body, on: collection, of: space, by: context.principal.author), rules, space)
    }
}
