import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// 304 if `If-None-Match` lists the object's entity tag. An answer with included objects has no entity tag.
struct ReadObject: DirectEndpoint {
    static let route = Route(
        .get, "/storage/{collection}/{id}", "readObject", "Returns an object.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .collection,
            .path("id", .objectID),
            .keys,
            .excludeKeys,
            .include,
            .deleted,
            .ifMatch,
            .ifNoneMatch,
        ],
        answers: [
            .answer(200, "The object as stored.", .json(.storedObject))
        ],
        errors: [
            404: "The object does not exist, or the caller may not see it (`object-not-found`).",
            412: "The entity tag does not match `If-Match` (`precondition-failed`).",
        ])

    let objects: ObjectStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights, for: [.get]), try context.objectID)
        let query = try ListQuery(request.uri.queryParameters, in: scope)
        guard let found = try await objects.find(id, query, in: scope) else {
            throw ServiceError(.objectNotFound)
        }
        // With included objects, the entity tag of the object does not determine the answer.
        guard query.include.isEmpty else { return try .object(found, hasTag: false) }
        return Response(try Self.answer(found, to: request))
    }

    func start(
        _ direct: DirectRequest, completion: @escaping @Sendable (Result<DirectAnswer?, any Error>) -> Void
    ) -> Bool {
        guard direct.request.uri.query == nil, let id = try? ObjectID(direct.parameters[1]),
            let scope = rights.cachedScope(of: direct, for: .get)
        else { return false }
        return objects.startFinding(id, in: scope, usage: direct.usage) { result in
            completion(result.map { found in found.flatMap { try? Self.answer($0, to: direct.request) } })
        }
    }

    private static func answer(_ found: ObjectStore.Written, to request: Request) throws -> DirectAnswer {
        let tag = try found.entityTag
        guard try request.matches(tag) else { throw ServiceError(.preconditionFailed) }
        if try request.knows(tag) { return DirectAnswer(status: .notModified, headers: [.eTag: tag.header]) }
        return DirectAnswer(headers: [.contentType: Response.jsonType, .eTag: tag.header], body: found.text)
    }
}
