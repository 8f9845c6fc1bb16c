import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// `GET /storage/{collection}/{id}?keys=&excludeKeys=&include=&deleted=`; 304 when `If-None-Match` names its entity
/// tag, 412 when `If-Match` does not.
struct ReadObject: Endpoint {
    static let route = Route(
        .get, "/storage/{collection}/{id}", "readObject", "One object.", callers: .client,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .path("id", .objectID),
            .keys,
            .excludeKeys,
            .include,
            .deleted,
        ],
        answers: [
            .answer(200, "The object as it is stored.", .json(.storedObject))
        ],
        errors: [
            404: "There is no such object (`object-not-found`), in no or in this collection.",
            412: "If-Match is not met.",
        ])

    let objects: ObjectStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights), try context.objectID)
        let query = try ListQuery(request.uri.queryParameters, in: scope)
        guard let found = try await objects.find(id, query, in: scope) else {
            throw HTTPProblem(.objectNotFound)
        }
        // With others' contents in it, the object's version does not tell whether the answer is the same.
        guard query.include.isEmpty else { return try .object(found, hasTag: false) }
        let tag = try found.entityTag
        guard try request.matches(tag) else { throw HTTPProblem(.preconditionFailed) }
        if try request.knows(tag) { return Response(status: .notModified, headers: [.eTag: tag.header]) }
        return try .object(found)
    }
}
